/* Tidings: who sleeps and who rings. Doorbell {epoch, asleep}, the asleep map, FUTEX_WAIT and FUTEX_WAKE with the kernel's check of the
 * value, deaths, revocation, and (REG) an observer that registers meanwhile. Every atomic block holds ONE access to shared memory
 * (every one of these is a locked instruction or follows one, so that no store buffer is needed here).
 *
 * Configuration:  POSTS per poster (2)    DEATHS (1)    SPURIOUS wake-ups (1)    REVOKE (0): observers may revoke what they wait for
 *                 POSTERS 2: poster 0 posts name 0, poster 1 posts name 1
 *                 OBS 2: observer 0 looks at name 0 and 1, observer 1 at name 0 only
 *                 REG: observer 1 registers for name 0 while all this goes on, and nobody looked at name 0 before (observer 0: only name 1)
 */
#ifndef POSTS
#define POSTS 2
#endif
#ifndef DEATHS
#define DEATHS 1
#endif
#ifndef SPURIOUS
#define SPURIOUS 1
#endif
#ifndef REVOKE
#define REVOKE 0
#endif
#ifndef LAST
#define LAST (2 * POSTS + REVOKE)
#endif

#define NOTHING 0
#define CLAIMED 1
#define DIED 2

byte W[LAST + 1];
bit C[LAST + 1], V[LAST + 1]; /* committed; dead */
bit recname[LAST + 1], recentry[LAST + 1]; /* whose name; does the record carry its entry's number */
byte front;
byte bell[2]; /* epoch * 2 + asleep */
byte asleepMap; /* one word, read at once */
byte members[2]; /* per name, one word */
bit entry[2];
byte G;
bit inqueue[2]; /* asleep in the kernel */
byte cursor[2]; /* ghost copy of the observers' */
byte dead[2], at[2]; /* at: the claim in flight + 1 (the pending pointer) */

#ifdef REG
#define matches(o, p) ((o) == 1 && recname[p] == 0 || (o) == 0 && recname[p] == 1)
#else
#define matches(o, p) ((o) == 0 || recname[p] == 0)
#endif

/* Nobody sleeps while a committed record waits for him. Checked whenever one of the two becomes true. */
inline none_missed(o) {
    d_step {
    i = cursor[o];
    do
    :: i < LAST -> assert(!(inqueue[o] && C[i] && !V[i] && matches(o, i))); i++
    :: else -> break
    od;
    i = 0
    }
}

proctype poster(byte me) {
    byte p, k, o, b, i, m, g;
    bit has;
    {
        /* a resolution from long ago */
        atomic { d_step { g = G } };
        atomic { d_step { has = entry[me] } };
        do
        :: k < POSTS ->
fresh:      atomic {
                if :: front >= LAST -> goto done :: else fi;
                p = front; front++; W[p] = CLAIMED; at[me] = p + 1; recname[p] = me;
#ifdef BUG_TICKET
                W[p] = NOTHING; at[me] = 0
#endif
            };
#ifdef BUG_TICKET
            atomic { d_step { W[p] = CLAIMED; at[me] = p + 1 } };
#endif
#ifndef BUG_NO_LOOK_AT_G
            atomic { if :: G == g -> goto resolved :: else g = G fi };
            atomic { d_step { has = entry[me] } };
#endif
resolved:
#ifdef BUG_COMMIT_FIRST
            atomic { d_step { recentry[p] = has; C[p] = 1; at[me] = 0 } };
#endif
            atomic { d_step { m = (has -> members[me] : 0) } };
            atomic { d_step { m = m & asleepMap } };
            o = 0;
            do
            :: o < 2 ->
                if
                :: m & (1 << o) ->
ringing:            atomic { b = bell[o]; if :: b & 1 -> skip :: else b = 0; goto rung fi };
#ifdef BUG_AWAKE_BEFORE_WAKE
                    atomic { if :: bell[o] == b -> bell[o] = (b + 2) & 254 :: else goto ringing fi };
                    atomic { d_step { inqueue[o] = 0; b = 0 } }
#else
#ifndef BUG_NO_EPOCH
                    atomic { if :: bell[o] == b -> bell[o] = b + 2; b = b + 2 :: else goto ringing fi };
#endif
                    atomic { d_step { inqueue[o] = 0 } }; /* FUTEX_WAKE */
#ifdef BUG_AWAKE_BY_STORE
                    atomic { d_step { bell[o] = b - 1; b = 0 } }
#else
                    atomic { d_step { if :: bell[o] == b -> bell[o] = b - 1 :: else fi; b = 0 } }
#endif
#endif
                :: else
                fi;
rung:
                o++
            :: else -> break
            od;
            o = 0; m = 0;
            atomic {
                if
                :: V[p] -> at[me] = 0; p = 0; goto fresh
                :: else ->
                    recentry[p] = has; C[p] = 1; at[me] = 0; k++;
                    none_missed(0);
                    none_missed(1);
                    p = 0
                fi
            }
        :: else -> break
        od;
done:
        atomic { d_step { p = 0; k = 0; g = 0; has = 0; o = 0; b = 0; m = 0 } };
        dead[me] = 2
    } unless {
        atomic { dead[me] == 1 -> dead[me] = 2; p = 0; k = 0; o = 0; b = 0; i = 0; m = 0; g = 0; has = 0; none_missed(0); none_missed(1) }
    }
}

proctype killer() {
    byte n, i;
    do
    :: n < DEATHS ->
        if :: i = 0 :: i = 1 fi;
        atomic { d_step {
            if
            :: dead[i] == 0 ->
                dead[i] = 1;
                if :: at[i] && W[at[i] - 1] == CLAIMED -> W[at[i] - 1] = DIED :: else fi;
                at[i] = 0
            :: else
            fi;
            n++; i = 0
        } }
    :: else -> break
    od
}

proctype observer(byte me) {
    byte cur, b, i;
#ifdef REG
    if
    :: me == 1 ->
#ifdef BUG_FRONTIER_BEFORE_G
        do :: atomic { if :: cur < LAST && W[cur] != NOTHING -> cur++ :: else -> break fi } od;
#endif
        atomic { d_step { members[0] = 2; entry[0] = 1 } };
#ifndef BUG_G_NOT_MOVED
        atomic { d_step { G++ } };
#endif
#ifndef BUG_FRONTIER_BEFORE_G
        do :: atomic { if :: cur < LAST && W[cur] != NOTHING -> cur++ :: else -> break fi } od;
#endif
        atomic { d_step { cursor[1] = cur } }
    :: else
    fi;
#endif
look:
    do
    :: atomic {
            if
            :: cur >= LAST -> goto stop
            :: W[cur] == NOTHING -> break
            :: V[cur] || W[cur] == DIED && !C[cur] -> cur++; cursor[me] = cur
            :: C[cur] && !V[cur] ->
                if :: matches(me, cur) -> assert(recentry[cur]) :: else fi;
                cur++; cursor[me] = cur
            :: W[cur] == CLAIMED && !C[cur] && !V[cur] && REVOKE -> V[cur] = 1
            fi /* claimed, and may not be revoked: wait */
        }
    od;
    atomic { d_step { b = bell[me] } };
    atomic { assert(!(b & 1)); if :: bell[me] == b -> bell[me] = b + 3; b = b + 3 :: else b = 0; goto look fi };
#ifndef BUG_MAP_AFTER_LOOK
    atomic { d_step { asleepMap = asleepMap | (1 << me) } };
#endif
#ifdef BUG_LOOK_FOR_COMMITTED
    atomic { if :: W[cur] == DIED || C[cur] || V[cur] -> goto awake :: else fi };
#else
#ifndef BUG_NO_SECOND_LOOK
    atomic { if :: W[cur] != NOTHING -> goto awake :: else fi };
#endif
#endif
#ifdef BUG_MAP_AFTER_LOOK
    atomic { d_step { asleepMap = asleepMap | (1 << me) } };
#endif
    atomic { if :: bell[me] == b -> inqueue[me] = 1; none_missed(me) :: else goto awake fi };
end:
    inqueue[me] == 0;
awake:
    atomic { d_step { asleepMap = asleepMap & (255 - (1 << me)) } };
#ifdef BUG_EPOCH_GOES_BACK
    atomic { d_step { bell[me] = b & 254; b = 0 } };
#else
    atomic { d_step { bell[me] = bell[me] & 254; b = 0 } };
#endif
    goto look;
stop:
    skip
}

proctype spurious() {
    byte n;
end:
    do
    :: atomic { d_step { n < SPURIOUS && inqueue[0] -> inqueue[0] = 0; n++ } }
    :: atomic { d_step { n < SPURIOUS && inqueue[1] -> inqueue[1] = 0; n++ } }
    :: n >= SPURIOUS -> break
    od
}

init {
    atomic {
#ifdef REG
        members[1] = 1; entry[1] = 1;
#else
        members[0] = 3; members[1] = 1; entry[0] = 1; entry[1] = 1;
#endif
        run poster(0);
        run poster(1);
        run observer(0);
        run observer(1);
        run killer();
        run spurious()
    }
}
