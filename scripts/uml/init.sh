#!/bin/bash
# The first process in the kernel of scripts/uml.sh: mount what can be written to, run the command, say how it ended.
# The root directory is this machine's, through hostfs and read-only; "$tfo_lab_state" is the directory uml.sh made.
set -eu
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
OWN=/run/uml

off() {
    sync
    echo o >/proc/sysrq-trigger     # power off (Documentation/admin-guide/sysrq.rst)
    sleep 60
}
trap off EXIT                       # were this process to end, the kernel would panic

mount -t proc proc /proc
mount -t sysfs sysfs /sys
mkdir -p /dev/pts /dev/shm
mount -t devpts devpts /dev/pts
mount -t tmpfs -o mode=1777 tmpfs /dev/shm
for link in fd:fd stdin:fd/0 stdout:fd/1 stderr:fd/2; do
    [[ -e /dev/${link%:*} ]] || ln -s "/proc/self/${link#*:}" "/dev/${link%:*}"
done
mount -t tmpfs -o mode=755 tmpfs /run
mkdir -p "$OWN/state" "$OWN/upper" "$OWN/work" "$OWN/project" "$OWN/lib" /run/lock
mount -t hostfs none "$OWN/state" -o "${tfo_lab_state:?}"

# The kernel's modules are not where modprobe looks, neither when we call it nor when the kernel does (modprobe.d(5)).
ln -s /usr/lib/uml/modules "$OWN/lib/modules"
export MODPROBE_OPTIONS="-d $OWN"
printf '#!/bin/sh\nexec modprobe -d %s "$@"\n' "$OWN" >"$OWN/modprobe"
chmod +x "$OWN/modprobe"
echo "$OWN/modprobe" >/proc/sys/kernel/modprobe

# The project's directory as it is, with what is written to it kept in memory. Made before /tmp is covered, and moved
# after, since the project may be in /tmp.
root=$(<"$OWN/state/root")
modprobe overlay
cd "$root"
mount -t overlay overlay -o "lowerdir=.,upperdir=$OWN/upper,workdir=$OWN/work" "$OWN/project"
cd /
mount -t tmpfs -o mode=1777 tmpfs /tmp
mkdir -p "$root"
mount --move "$OWN/project" "$root"
mapfile -t -d '' outs <"$OWN/state/outs"
for out in ${outs[@]+"${outs[@]}"}; do
    mkdir -p "$out"
    mount -t hostfs none "$out" -o "$out"
done

ip link set lo up
ulimit -n 1024        # Mininet's mnexec closes as many descriptors one by one for each host: 80 ms of them for 4096
directory=$(<"$OWN/state/directory")
[[ -d $directory ]] || directory=$root
mapfile -t -d '' words <"$OWN/state/words"
: >"$OWN/state/booted"
status=0
env -i -C "$directory" "MODPROBE_OPTIONS=$MODPROBE_OPTIONS" "${words[@]}" >>"$OWN/state/stdout" 2>>"$OWN/state/stderr" </dev/null || status=$?
echo "$status" >"$OWN/state/status"
