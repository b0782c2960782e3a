# SPDX-License-Identifier: Apache-2.0
"""Renders the templates of packaging/kubernetes/helm, as far as they go: values, `quote`, `toJson`, `if`, `if eq`, `range`, `end`.

Debian has no helm. Anything else is an error, so the templates stay within it.
"""

import json
import re

_TAG = re.compile(r"[ \t]*\{\{-\s*(.+?)\s*\}\}[ \t]*\n?|\{\{\s*(.+?)\s*\}\}")


def _split(text):
    """[(kind, text)]: plain text, values and blocks."""
    at = 0
    for found in _TAG.finditer(text):
        yield "text", text[at:found.start()]
        at = found.end()
        # A block tag trims what is before it: here, its own line.
        yield ("block", found.group(1)) if found.group(1) else ("value", found.group(2))
    yield "text", text[at:]


def _look_up(path, scope):
    value = scope
    for name in path.lstrip(".").split(".") if path != "." else ["."]:
        value = value[name]  # a KeyError names what the chart lacks
    return value


def _evaluate(expression, scope):
    path, *filters = (part.strip() for part in expression.split("|"))
    if not re.fullmatch(r"\.[A-Za-z.]*", path):
        raise ValueError(f"not known: {expression}")
    value = _look_up(path, scope)
    for name in filters:
        if name not in ("quote", "toJson"):
            raise ValueError(f"not known: {name}")
        value = json.dumps(str(value) if name == "quote" else value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _condition(words, scope):
    if words[0] == "eq" and len(words) == 3:
        return _look_up(words[1], scope) == json.loads(words[2])
    if len(words) == 1:
        return bool(_look_up(words[0], scope))
    raise ValueError(f"not known: if {words}")


def _block(parts, scope):
    """Up to the `end` of this block, or of the text."""
    out = []
    while parts:
        kind, text = parts.pop(0)
        words = text.split()
        if kind == "text":
            out.append(text)
        elif kind == "value":
            out.append(_evaluate(text, scope))
        elif words[0] == "end":
            break
        elif words[0] == "if":
            inner = _block(parts, scope) if _condition(words[1:], scope) else _skip(parts)
            out.append(inner)
        elif words[0] == "range":
            body = list(parts)
            items = _look_up(words[1], scope)
            _skip(parts)
            out.extend(_block(list(body), {**scope, ".": item}) for item in items)
        else:
            raise ValueError(f"not known: {text}")
    return "".join(out)


def _skip(parts):
    depth = 1
    while depth:
        kind, text = parts.pop(0)
        if kind == "block":
            depth += {"if": 1, "range": 1, "end": -1}[text.split()[0]]
    return ""


def render(template, values):
    """The text of one template."""
    scope = {"Values": values, "Release": {"Name": "s3rdmafs-csi", "Namespace": "kube-system"}}
    return _block(list(_split(template)), scope)
