# SPDX-License-Identifier: Apache-2.0
# Completion for fish. tests/unit/docs compares its options with those of --help.

function __s3rdmafs_mounts
    awk '$3 == "fuse.s3rdma" {print $2}' /proc/self/mounts 2>/dev/null
end

complete -c s3rdmafs -n __fish_use_subcommand -f -a mount -d 'Mount a bucket'
complete -c s3rdmafs -n __fish_use_subcommand -f -a umount -d 'Unmount a bucket and end its daemon'
complete -c s3rdmafs -n __fish_use_subcommand -f -a stats -d 'Print the counters of a mount'
complete -c s3rdmafs -n __fish_use_subcommand -f -a warm -d 'Make objects resident ahead of time'
complete -c s3rdmafs -n __fish_use_subcommand -f -a top -d 'Show what a mount does, live'
complete -c s3rdmafs -n __fish_use_subcommand -f -a explain -d 'Say why a mount is as fast as it is'
complete -c s3rdmafs -n __fish_use_subcommand -f -a recover -d 'List, send or discard written files'
complete -c s3rdmafs -n __fish_use_subcommand -f -a doctor -d 'Check what a mount needs, and advise'
complete -c s3rdmafs -n __fish_use_subcommand -f -a manifest -d 'Write the names of a bucket into a file'
complete -c s3rdmafs -n __fish_use_subcommand -f -a config -d 'Check a mount file'
complete -c s3rdmafs -l help -d 'Print the help'
complete -c s3rdmafs -n __fish_use_subcommand -l version -d 'Print the version'

complete -c s3rdmafs -n '__fish_seen_subcommand_from umount stats top explain warm' -f -a '(__s3rdmafs_mounts)'
complete -c s3rdmafs -n '__fish_seen_subcommand_from mount' -s f -l foreground -d 'Stay in the foreground'
complete -c s3rdmafs -n '__fish_seen_subcommand_from mount recover config' -s o -l options -x -d 'Mount options'
complete -c s3rdmafs -n '__fish_seen_subcommand_from umount' -l lazy -d 'Detach now'
complete -c s3rdmafs -n '__fish_seen_subcommand_from top' -l once -d 'Print one frame'
complete -c s3rdmafs -n '__fish_seen_subcommand_from top' -l interval -x -d 'Seconds between two looks'
complete -c s3rdmafs -n '__fish_seen_subcommand_from top' -l columns -x -d 'Width of that frame'
complete -c s3rdmafs -n '__fish_seen_subcommand_from top' -l rows -x -d 'Height of that frame'
complete -c s3rdmafs -n '__fish_seen_subcommand_from explain' -l seconds -x -d 'How long to look'
complete -c s3rdmafs -n '__fish_seen_subcommand_from warm' -l release -d 'Release objects that were made resident'
complete -c s3rdmafs -n '__fish_seen_subcommand_from recover' -l send -d 'Store the files in the bucket'
complete -c s3rdmafs -n '__fish_seen_subcommand_from recover' -l discard -d 'Remove the files for good'
complete -c s3rdmafs -n '__fish_seen_subcommand_from stats recover doctor explain' -l json -d 'Print as JSON'
complete -c s3rdmafs -n '__fish_seen_subcommand_from doctor' -l measure -d 'Measure for longer'
complete -c s3rdmafs -n '__fish_seen_subcommand_from doctor' -l report -r -d 'Write a full report'
complete -c s3rdmafs -n '__fish_seen_subcommand_from manifest' -s o -l output -r -d 'The manifest to write'
complete -c s3rdmafs -n '__fish_seen_subcommand_from manifest' -l from-inventory -r -d 'CSV files of an S3 inventory'
complete -c s3rdmafs -n '__fish_seen_subcommand_from manifest' -l jobs -x -d 'Listings side by side'
complete -c s3rdmafs -n '__fish_seen_subcommand_from manifest' -l verify -r -d 'Check every byte of this manifest'
complete -c s3rdmafs -n '__fish_seen_subcommand_from manifest' -l show -r -d 'Show what this manifest is of'
