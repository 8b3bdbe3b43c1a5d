# promise: identity is asked of the kernel, not of a library that an agent can replace
# attack: replace getpid and getppid by LD_PRELOAD
# play: coder

needs() { command -v cc > /dev/null || echo "there is no C compiler here (cc)"; }

coder() {
    work && submit || return
    attempts
}

attempts() {
    printf '#include <sys/types.h>\npid_t getpid(void) { return 1; }\npid_t getppid(void) { return 0; }\n' > "$OUT/pid.c"
    cc -shared -fPIC -o "$OUT/pid.so" "$OUT/pid.c"
    try register bare LD_PRELOAD="$OUT/pid.so" liza agent register --role code_reviewer --id evil
    try claim bare LD_PRELOAD="$OUT/pid.so" liza review claim t1
}

outcome() {
    was_refused register claim
}

won() { attempts; }
