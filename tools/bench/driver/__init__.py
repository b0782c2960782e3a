# SPDX-License-Identifier: Apache-2.0
"""The program that tools/bench/run.sh runs: starts the contestants, gives each the same work, and reports."""
