/* Tidings: sleeping observers and ringing posters. Doorbell {epoch, asleep}, the asleep map, FUTEX_WAIT and FUTEX_WAKE with the kernel's check of the
 * value, deaths, revocation, and (REG) an observer that registers meanwhile. Every atomic block holds ONE access to shared memory
 * (every one of these is a locked instruction or follows one, so that no store buffer is needed here).
 *
 * Configuration:  POSTS per poster (2)    DEATHS (1)    SPURIOUS wake-ups (1)    REVOKE (0): observers may revoke what they wait for
 *                 POSTERS 2: poster 0 posts name 0, poster 1 posts name 1 (SAME: name 0, too)
 *                 OBS (2): observer 0 looks at name 0 and 1, observer 1 at name 0 only
 *                 REG: observer 1 registers for name 0 while all this goes on, and no observer looked at name 0 before (observer 0: only name 1)
 *                 WAKE_GROUP n: n listed sleepers or more are woken by the name's wake group word. LIST0, LIST1: which names (bits) the observers list;
 *                 chosen anew before each sleep among these and fewer, or (ALWAYS) always these. Without WAKE_GROUP nothing of this is there.
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

#ifndef OBS
#define OBS 2
#endif
#ifndef LIST0
#define LIST0 3
#endif
#ifndef LIST1
#define LIST1 1
#endif

#define NOTHING 0
#define CLAIMED 1
#define DIED 2

byte W[LAST + 1];
bit C[LAST + 1], V[LAST + 1]; /* committed; dead */
bit recname[LAST + 1], recentry[LAST + 1]; /* whose name; does the record carry its entry's number */
byte front;
byte name_futex[2]; /* epoch * 2 + asleep */
byte asleepMap; /* one word, read at once */
byte members[2]; /* per name, one word */
bit entry[2];
byte G;
bit inqueue[2]; /* asleep in the kernel */
byte cursor[2]; /* ghost copy of the observers' */
byte dead[2], at[2]; /* at: the claim in flight + 1 (the pending pointer) */
#ifdef WAKE_GROUP
byte wake_group[2]; /* per name. Its low bits in the real thing, which memberships change: bit 7 here (REG) */
byte group_waits[2]; /* per observer: the names it lists, as bits */
byte queued[2]; /* per observer, the kernel's: on which words futex_waitv has it by now. 1: its doorbell, 2 << name: that wake group word */
#ifdef BUG_WAKE_GROUP_WRAPS
#define next_wake_group(c) ((c) ^ 1)
#else
#define next_wake_group(c) ((c) + 1)
#endif
#ifdef WAKE_GROUP_SAME_EPOCH
#define wake_group_awake(d) ((d) - 1)
#else
#define wake_group_awake(d) ((d) + 1)
#endif
#endif

#ifdef SAME
#define name(poster) 0
#else
#define name(poster) (poster)
#endif
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

/* FUTEX_WAKE: of a sleeper who is queued on one of the words already, though not on all, the call returns as well. */
inline wake_name_futex(o) {
#ifdef WAKE_GROUP
    queued[o] = 0;
#endif
    inqueue[o] = 0
}

#ifdef WAKE_GROUP
inline wake_wake_group(n) {
    atomic { d_step {
        if :: queued[0] & (2 << n) -> queued[0] = 0; inqueue[0] = 0 :: else fi;
        if :: queued[1] & (2 << n) -> queued[1] = 0; inqueue[1] = 0 :: else fi
    } }
}

/* One step of futex_waitv: the word's value is compared and the call queued on it under one lock. Asleep when it is queued on all of them
 * and was not woken from any meanwhile. */
inline queue(me, same, word, last) {
    atomic {
        if
        :: !(same) || (word) != 1 && !queued[me] -> queued[me] = 0; goto awake
        :: else ->
            queued[me] = queued[me] | (word);
            if :: last -> inqueue[me] = 1; none_missed(me) :: else fi
        fi
    }
}

inline read_wake_groups() {
    if :: l & 1 -> atomic { d_step { v0 = wake_group[0] } } :: else fi;
    if :: l & 2 -> atomic { d_step { v1 = wake_group[1] } } :: else fi
}

/* Its own word: what it says already need not be written. */
inline write_group_waits(me) {
#ifdef BUG_GROUP_WAITS_NOT_CLEARED
    if :: l && l != group_waits[me] -> atomic { d_step { group_waits[me] = l } } :: else fi
#else
    if :: l != group_waits[me] -> atomic { d_step { group_waits[me] = l } } :: else fi
#endif
}

inline clear_flag(o) {
#ifdef BUG_WAKE_GROUP_AWAKE_BY_STORE
    atomic { d_step { name_futex[o] = wake_group_awake(d[o]); m = m & (255 - (1 << o)); d[o] = 0 } }
#else
    atomic { d_step {
        if
        :: name_futex[o] == d[o] -> name_futex[o] = wake_group_awake(d[o]); m = m & (255 - (1 << o))
        :: name_futex[o] != d[o] && !(name_futex[o] & 1) -> m = m & (255 - (1 << o))
        :: else ->
#ifdef WAKE_GROUP_RING_AFTER
            skip /* asleep still, or again: rung by itself */
#else
            m = m & (255 - (1 << o))
#endif
        fi;
        d[o] = 0
    } }
#endif
}

inline clear_flags() {
    if :: r & 1 -> clear_flag(0) :: else fi;
    if :: r & 2 -> clear_flag(1) :: else fi
}
#endif

proctype poster(byte me) {
    byte p, k, o, b, i, m, g;
    bit has;
#ifdef WAKE_GROUP
    byte r, d[2];
#endif
    {
        /* a resolution from long ago */
        atomic { d_step { g = G } };
        atomic { d_step { has = entry[name(me)] } };
        do
        :: k < POSTS ->
fresh:      atomic {
                if :: front >= LAST -> goto done :: else fi;
                p = front; front++; W[p] = CLAIMED; at[me] = p + 1; recname[p] = name(me);
#ifdef BUG_TICKET
                W[p] = NOTHING; at[me] = 0
#endif
            };
#ifdef BUG_TICKET
            atomic { d_step { W[p] = CLAIMED; at[me] = p + 1 } };
#endif
#ifndef BUG_NO_LOOK_AT_G
            atomic { if :: G == g -> goto resolved :: else g = G fi };
            atomic { d_step { has = entry[name(me)] } };
#endif
resolved:
#ifdef BUG_COMMIT_FIRST
            atomic { d_step { recentry[p] = has; C[p] = 1; at[me] = 0 } };
#endif
            atomic { d_step { m = (has -> members[name(me)] : 0) } };
            atomic { d_step { m = m & asleepMap } };
            o = 0;
#ifdef WAKE_GROUP
            do
            :: o < 2 ->
                if
                :: m & (1 << o) ->
#ifdef BUG_GROUP_WAITS_BEFORE_NAME_FUTEX
                    atomic { d_step { if :: group_waits[o] & (1 << name(me)) -> r = r | (1 << o) :: else fi } };
                    atomic { d_step { if :: name_futex[o] & 1 -> if :: r & (1 << o) -> d[o] = name_futex[o] :: else fi
                                      :: else -> r = r & (255 - (1 << o)); m = m & (255 - (1 << o)) fi } }
#else
                    atomic { if :: name_futex[o] & 1 -> d[o] = name_futex[o] :: else m = m & (255 - (1 << o)); goto looked fi };
                    atomic { d_step { if :: group_waits[o] & (1 << name(me)) -> r = r | (1 << o) :: else d[o] = 0 fi } }
#endif
                :: else
                fi;
looked:
                o++
            :: else -> break
            od;
            o = 0;
            if
            :: (r & 1) + (r >> 1) >= WAKE_GROUP ->
#ifdef BUG_WAKE_GROUP_AWAKE_BEFORE_BUMP
                clear_flags();
#endif
#if !defined(BUG_NO_BUMP) && !defined(BUG_BUMP_AFTER_WAKE)
                atomic { d_step { wake_group[name(me)] = next_wake_group(wake_group[name(me)]) } };
#endif
#ifdef BUG_WAKE_GROUP_AWAKE_BEFORE_WAKE
                clear_flags();
#endif
                wake_wake_group(name(me));
#ifdef BUG_BUMP_AFTER_WAKE
                atomic { d_step { wake_group[name(me)] = next_wake_group(wake_group[name(me)]) } };
#endif
#if !defined(BUG_WAKE_GROUP_AWAKE_BEFORE_BUMP) && !defined(BUG_WAKE_GROUP_AWAKE_BEFORE_WAKE)
                clear_flags();
#endif
            :: else
            fi;
            atomic { d_step { r = 0; d[0] = 0; d[1] = 0 } };
#endif
            do
            :: o < 2 ->
                if
                :: m & (1 << o) ->
ringing:            atomic { b = name_futex[o]; if :: b & 1 -> skip :: else b = 0; goto rung fi };
#ifdef BUG_AWAKE_BEFORE_WAKE
                    atomic { if :: name_futex[o] == b -> name_futex[o] = (b + 2) & 254 :: else goto ringing fi };
                    atomic { d_step { wake_name_futex(o); b = 0 } }
#else
#ifndef BUG_NO_EPOCH
                    atomic { if :: name_futex[o] == b -> name_futex[o] = b + 2; b = b + 2 :: else goto ringing fi };
#endif
                    atomic { d_step { wake_name_futex(o) } }; /* FUTEX_WAKE */
#ifdef BUG_AWAKE_BY_STORE
                    atomic { d_step { name_futex[o] = b - 1; b = 0 } }
#else
                    atomic { d_step { if :: name_futex[o] == b -> name_futex[o] = b - 1 :: else fi; b = 0 } }
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
        atomic {
            dead[me] == 1 -> dead[me] = 2; p = 0; k = 0; o = 0; b = 0; i = 0; m = 0; g = 0; has = 0;
#ifdef WAKE_GROUP
            r = 0; d[0] = 0; d[1] = 0;
#endif
            none_missed(0); none_missed(1)
        }
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
#ifdef WAKE_GROUP
    byte l, v0, v1; /* what it lists, and the values of these words */
#endif
#ifdef REG
    if
    :: me == 1 ->
#ifdef BUG_FRONTIER_BEFORE_G
        do :: atomic { if :: cur < LAST && W[cur] != NOTHING -> cur++ :: else -> break fi } od;
#endif
        atomic { d_step { members[0] = 2; entry[0] = 1 } };
#ifdef WAKE_GROUP
        atomic { d_step { wake_group[0] = wake_group[0] | 128 } };
#endif
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
#ifdef WAKE_GROUP
#ifdef ALWAYS
    l = (me == 0 -> LIST0 : LIST1);
#else
    atomic {
        if :: (me == 0 -> LIST0 : LIST1) & 1 -> l = 1 :: l = 0 fi;
        if :: (me == 0 -> LIST0 : LIST1) & 2 -> l = l | 2 :: skip fi
    };
#endif
#if !defined(BUG_WAKE_GROUP_AFTER_ANNOUNCE) && !defined(BUG_WAKE_GROUP_AFTER_LOOK)
    read_wake_groups();
#endif
#if !defined(BUG_GROUP_WAITS_AFTER_ANNOUNCE) && !defined(BUG_GROUP_WAITS_AFTER_LOOK)
    write_group_waits(me);
#endif
#endif
    atomic { d_step { b = name_futex[me] } };
    atomic { assert(!(b & 1)); if :: name_futex[me] == b -> name_futex[me] = b + 3; b = b + 3 :: else b = 0; goto look fi };
#ifdef BUG_GROUP_WAITS_AFTER_ANNOUNCE
    write_group_waits(me);
#endif
#ifdef BUG_WAKE_GROUP_AFTER_ANNOUNCE
    read_wake_groups();
#endif
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
#ifdef WAKE_GROUP
#ifdef BUG_WAKE_GROUP_AFTER_LOOK
    read_wake_groups();
#endif
#ifdef BUG_GROUP_WAITS_AFTER_LOOK
    write_group_waits(me);
#endif
#ifdef BUG_NOT_QUEUED
    l = 0;
#endif
    queue(me, name_futex[me] == b, 1, !l);
    if :: l & 1 -> queue(me, wake_group[0] == v0, 2, !(l & 2)) :: else fi;
    if :: l & 2 -> queue(me, wake_group[1] == v1, 4, true) :: else fi;
#else
    atomic { if :: name_futex[me] == b -> inqueue[me] = 1; none_missed(me) :: else goto awake fi };
#endif
end:
    inqueue[me] == 0;
awake:
    atomic {
#ifdef WAKE_GROUP
        l = 0; v0 = 0; v1 = 0;
#endif
        d_step { asleepMap = asleepMap & (255 - (1 << me)) }
    };
#ifdef BUG_EPOCH_GOES_BACK
    atomic { d_step { name_futex[me] = b & 254; b = 0 } };
#else
    atomic { d_step { name_futex[me] = name_futex[me] & 254; b = 0 } };
#endif
    goto look;
stop:
    skip
}

proctype spurious() {
    byte n;
end:
    do
    :: atomic { d_step { n < SPURIOUS && inqueue[0] -> wake_name_futex(0); n++ } }
    :: atomic { d_step { n < SPURIOUS && inqueue[1] -> wake_name_futex(1); n++ } }
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
#if OBS > 1
        run observer(1);
#endif
        run killer();
        run spurious()
    }
}
