/* Tidings: the ring. Claim, commit, verdict, eviction, passing over, with a poster's store buffer and with deaths.
 * See README.md for what is left out. Every atomic block holds ONE access to shared memory; the rest of it is local or ghost.
 *
 * Configuration:  N slots (2)        POSTERS (2)    POSTS per poster (2)    OBS observers (1)    LAST positions in all (4)
 *                 NAMES tallies (1)  EVMAX longest range evicted (1)        DEATHS (0)           REBORN: a dead thread's TID comes back
 *                 FREEZE: from any state on, one poster alone runs: it must be done within bounded steps of its own
 *                 ABANDON: a poster may give a claim up before it writes anything (its name's entry is gone)
 *                 OBSREVOKE 1: observers may revoke whatever they see claimed; 0: evictors only
 * Holes of the first design, each of which the checker must find (HOLE_*), and planted bugs (BUG_*): see run.sh.
 */
#ifndef N
#define N 2
#endif
#ifndef POSTERS
#define POSTERS 2
#endif
#ifndef POSTS
#define POSTS 2
#endif
#ifndef OBS
#define OBS 1
#endif
#ifndef LAST
#define LAST 4
#endif
#ifndef NAMES
#define NAMES 1
#endif
#ifndef EVMAX
#define EVMAX 1
#endif
#ifndef DEATHS
#define DEATHS 0
#endif
#ifndef OBSREVOKE
#define OBSREVOKE 1
#endif

/* Positions start at N (lap 1), so that lap 0 is what a newborn ring has in its words. */
#define FIRST N
#define END (FIRST + LAST)
#define S(p) ((p) % N)
#define LAP(p) ((p) / N)

/* W: 15…6 lap, 5 phase, 4 skipped, 3 died, 2…0 owner (the kernel's mark clears the owner, as the real one does) */
#define wlap(w) ((w) >> 6)
#define wphase(w) (((w) >> 5) & 1)
#define wskip(w) (((w) >> 4) & 1)
#define wdied(w) (((w) >> 3) & 1)
#define wowner(w) ((w) & 7)
#define mkw(lap, phase, skip, died, owner) (((lap) << 6) | ((phase) << 5) | ((skip) << 4) | ((died) << 3) | (owner))
/* C: position, phase */
#define cpos(c) ((c) >> 1)
#define cphase(c) ((c) & 1)
/* V: position, state */
#define vpos(v) ((v) >> 2)
#define vst(v) ((v) & 3)
#define KNOWN 0 /* dead, and its poster knows (the first design: "none") */
#define PENDING 1
#define DEAD 2
#define ACCEPTED 3
#define mkv(p, st) (((p) << 2) | (st))
/* EV: start, length */
#define estart(e) ((e) >> 2)
#define elen(e) ((e) & 3)

short W[N];
byte C[N];
byte V[N];
byte R0[N], R1[N]; /* the record's halves: whoever claimed p writes p, name into both */
byte EV;
byte tally_count[NAMES], tally_end[NAMES];
byte front; /* the frontier hint, read right. A real one lags: a longer walk, no other outcome */

byte sb[POSTERS]; /* store buffer for C: 0 empty */
byte pend[POSTERS]; /* the robust list's pending pointer: slot + 1 */
byte dead[POSTERS];

/* Ghosts */
byte fate[END]; /* 0 open, 1 somebody took p for delivered, 2 somebody took it for void */
#if NAMES > 1
#define name_of(me) (me)
bit namedAs[END];
#else
#define name_of(me) 0
#endif
#ifdef FREEZE
byte alone; /* its _pid: init 0, cpu 1, then the posters */
byte steps;
#define LIVE provided (alone == 0 || alone == _pid)
#define STEP if :: alone -> steps++; assert(steps <= BOUND) :: else fi
#ifndef BOUND
#define BOUND 40
#endif
#else
#define LIVE
#define STEP skip
#endif

#define rec(p, nm) (((p) << 1) | (nm))
#define rpos(r) ((r) >> 1)
#define rname(r) ((r) & 1)

inline is_delivered(p) { assert(fate[p] != 2); fate[p] = 1 }
inline is_void(p) { assert(fate[p] != 1); fate[p] = 2 }
inline drain(i) { C[S(cpos(sb[i]))] = sb[i]; sb[i] = 0 }
inline drain_own(i) { if :: sb[i] -> drain(i) :: else fi }

#ifdef BUG_NO_MEMBARRIER
inline membarrier() { skip }
#else
inline membarrier() {
    drain_own(0);
#if POSTERS > 1
    drain_own(1);
#endif
#if POSTERS > 2
    drain_own(2);
#endif
}
#endif

/* What is position q? res: 0 void, 1 committed (record seen in r), 2 the slot is at a later lap.
 * `may_wait`: an observer, which copies, checks W afterwards and may wait instead of revoking. */
inline examine(q, may_wait, res) {
    res = 0; /* local, merged into the next step */
again:
    atomic { STEP; c = C[S(q)]; if :: cpos(c) == q -> c = 0; goto committed :: else c = 0 fi };
    atomic {
        w = W[S(q)];
        if
        :: wlap(w) != LAP(q) -> w = 0; res = 2; goto examined
        :: else ->
            if
            :: wdied(w) -> w = 0
            :: !wdied(w) && wskip(w) -> w = 0; res = 0; goto examined
            :: else -> w = 0; goto claimed
            fi
        fi
    };
#ifndef BUG_DIED_NO_SECOND_LOOK
    atomic {
        c = C[S(q)];
        if
        :: cpos(c) == q -> c = 0; goto committed
#ifndef HOLE_TOMBSTONE
        :: cpos(c) > q -> c = 0; goto again /* reused meanwhile: it may have been committed */
#endif
        :: else -> c = 0; res = 0; goto examined
        fi
    };
#else
    res = 0; goto examined;
#endif
claimed:
    atomic {
        v = V[S(q)];
        if
        :: vpos(v) == q && (vst(v) == DEAD || vst(v) == KNOWN) -> v = 0; res = 0; goto examined
        :: vpos(v) == q && vst(v) == ACCEPTED -> v = 0; goto again
        :: vpos(v) == q && vst(v) == PENDING -> goto pending
        :: vpos(v) > q -> v = 0; goto again /* W has moved on */
        :: vpos(v) < q && may_wait -> v = 0; goto again
        :: vpos(v) < q && (!may_wait || OBSREVOKE) -> skip
        fi
    };
    atomic { if :: V[S(q)] == v -> V[S(q)] = mkv(q, PENDING); v = 0 :: else -> v = 0; goto again fi };
pending:
    atomic { d_step { v = 0; membarrier() } };
    atomic { d_step { c = C[S(q)] } };
    atomic {
        if
        :: V[S(q)] == mkv(q, PENDING) ->
#ifdef HOLE_STALE_REVOKER
            if :: cpos(c) == q -> V[S(q)] = mkv(q, ACCEPTED) :: else -> V[S(q)] = mkv(q, DEAD) fi
#else
            if :: cpos(c) >= q -> V[S(q)] = mkv(q, ACCEPTED) :: else -> V[S(q)] = mkv(q, DEAD) fi
#endif
        :: else
        fi;
        c = 0;
        goto again
    };
committed:
    atomic {
        v = V[S(q)];
        if
        :: vpos(v) == q && (vst(v) == DEAD || vst(v) == KNOWN) ->
            v = 0;
#ifndef BUG_NO_LOOK_AT_V
            res = 0; goto examined
#else
            goto copy
#endif
        :: vpos(v) == q && vst(v) == PENDING -> v = 0
        :: else -> v = 0; goto copy
        fi
    };
#ifndef BUG_PENDING_DELIVERED
    atomic { if :: V[S(q)] == mkv(q, PENDING) -> V[S(q)] = mkv(q, ACCEPTED) :: else fi; goto committed };
#endif
copy:
    if
    :: may_wait ->
        atomic { d_step { r = R0[S(q)] } };
        atomic { d_step { r1 = R1[S(q)] } };
        atomic { d_step {
#ifndef BUG_NO_LAP_CHECK
            w = W[S(q)];
            if :: wlap(w) != LAP(q) -> res = 2 :: else res = 1 fi;
#else
            res = 1;
#endif
            w = 0;
            if :: res == 1 -> assert(rpos(r) == q && r1 == r) :: else r = 0 fi;
            r1 = 0
        } }
    :: else ->
#if NAMES > 1
        atomic { d_step { r = R0[S(q)]; res = 1 } }
#else
        res = 1
#endif
    fi;
examined:
    skip
}

/* Helps with the range that was read into `e`. */
inline evict() {
    q = estart(e); got = 0; bits = 0;
    do
    :: q < estart(e) + elen(e) ->
        examine(q, false, res);
        atomic {
            if
            :: res == 2 -> res = 0; got = 0; bits = 0; goto evicted /* EV has moved */
            :: res == 1 ->
                bits = bits | (1 << (q - estart(e)));
#if NAMES > 1
                got = got + (rname(r) -> 16 : 1); r = 0
#else
                got++
#endif
            :: else
            fi;
            res = 0; q++
        }
    :: else -> break
    od;
#ifndef BUG_NO_EV_CHECK
    atomic {
        if
        :: EV != e -> got = 0; bits = 0; q = 0; goto evicted
        :: else ->
            q = estart(e);
            do
            :: q < estart(e) + elen(e) ->
                if :: bits & (1 << (q - estart(e))) -> is_delivered(q) :: else is_void(q) fi;
                q++
            :: else -> break
            od;
            q = 0; bits = 0
        fi
    };
#else
    q = 0; bits = 0;
#endif
    do
    :: atomic {
#if NAMES > 1
            nm = (got & 15 -> 0 : 1);
            if :: got == 0 -> nm = 0; break :: else fi;
#else
            if :: got == 0 -> break :: else fi;
#endif
            t = tally_count[nm]; te = tally_end[nm];
#ifndef BUG_TALLY_NO_END
            if
            :: te >= estart(e) + elen(e) ->
                got = (nm -> 0 : got & 240); t = 0; te = 0; goto next_name
            :: else
            fi
#endif
        };
        atomic { d_step {
            if
            :: tally_count[nm] == t && tally_end[nm] == te ->
                tally_count[nm] = t + (nm -> got >> 4 : got & 15);
                tally_end[nm] = estart(e) + elen(e);
                got = (nm -> 0 : got & 240)
            :: else
            fi;
            t = 0; te = 0; STEP
        } };
next_name:
        skip
    od;
    atomic { d_step { if :: EV == e -> EV = (estart(e) + elen(e)) << 2 :: else fi } };
evicted:
    skip
}

proctype poster(byte me) LIVE {
    byte p, c, v, k, e, q, got, bits, res, r, r1, t, te, nm;
    short w, w1;
born:
    {
        do
        :: k < POSTS ->
fresh:      atomic { p = front; e = 0; w = 0; w1 = 0; c = 0; v = 0; STEP; if :: p >= END -> goto done :: else fi };
            atomic {
                e = EV;
                if
                :: elen(e) && p >= estart(e) + N -> skip
                :: elen(e) == 0 && p >= estart(e) + N -> goto begin
                :: else -> e = 0; goto claim
                fi
            };
            goto help;
begin:
#if EVMAX > 1
            if :: bits = 1 :: (estart(e) + 2 <= p) -> bits = 2 fi;
#else
            bits = 1;
#endif
            atomic { if :: EV == e -> EV = e | bits; e = e | bits; bits = 0 :: else -> bits = 0; e = 0; goto fresh fi };
help:
            evict();
            goto fresh;
claim:
            atomic {
#ifndef BUG_PENDING_LATE
                pend[me] = S(p) + 1;
#endif
                w = W[S(p)];
                if :: wlap(w) >= LAP(p) -> goto fresh :: else fi
            };
            /* C after W; own stores are seen at once */
            atomic { d_step { if :: sb[me] && S(cpos(sb[me])) == S(p) -> c = sb[me] :: else -> c = C[S(p)] fi } };
            atomic {
                if
                :: wowner(w) == 0 || wdied(w) -> goto mine
                :: else ->
#ifndef BUG_REUSE_BUSY
                    if :: wphase(w) != cphase(c) -> goto pass :: else fi
#else
                    skip
#endif
                fi
            };
#ifndef HOLE_LATE_VERDICT
            atomic { v = V[S(p)]; if :: v == mkv(cpos(c), DEAD) -> goto pass :: else v = 0 fi };
#endif
            goto mine;
pass:
#ifdef BUG_WAIT_BUSY
            goto fresh;
#endif
            atomic {
                v = 0; drain_own(me);
#ifdef BUG_PASS_UNKEPT
                if :: W[S(p)] == w -> W[S(p)] = mkw(LAP(p), wphase(w), 1, 0, 0); front = p + 1 :: else fi;
#else
                if :: W[S(p)] == w -> W[S(p)] = mkw(LAP(p), wphase(w), 1, wdied(w), wowner(w)); front = p + 1 :: else fi;
#endif
                goto fresh
            };
mine:
            atomic {
                drain_own(me);
#ifdef HOLE_PHASE
                w1 = mkw(LAP(p), 1 - wphase(w), 0, 0, me + 1);
#else
                w1 = mkw(LAP(p), 1 - cphase(c), 0, 0, me + 1);
#endif
#ifdef BUG_PHASE
                w1 = mkw(LAP(p), wphase(w), 0, 0, me + 1);
#endif
                if
                :: W[S(p)] == w ->
                    W[S(p)] = w1; front = p + 1;
#if NAMES > 1
                    namedAs[p] = name_of(me);
#endif
                    w = 0; c = 0
                :: else -> goto fresh
                fi
            };
#ifdef BUG_PENDING_LATE
            atomic { d_step { pend[me] = S(p) + 1 } };
#endif
#ifdef ABANDON
            if :: skip :: goto abandon fi;
#endif
            atomic { d_step { R0[S(p)] = rec(p, name_of(me)); assert(wowner(W[S(p)]) == me + 1) } }; /* nobody reuses a cell that is being written */
            atomic { d_step { R1[S(p)] = rec(p, name_of(me)); assert(wowner(W[S(p)]) == me + 1) } };
            atomic { d_step { assert(wowner(W[S(p)]) == me + 1); sb[me] = (p << 1) | wphase(w1); w1 = 0 } };
#ifdef HOLE_LATE_VERDICT
            atomic { d_step { pend[me] = 0 } };
#endif
#ifdef HOLE_EARLY_CLEAR
            atomic { d_step { pend[me] = 0 } };
#endif
verdict:
            atomic {
                STEP; v = V[S(p)];
                if
                :: v == mkv(p, PENDING) -> v = 0
                :: v == mkv(p, DEAD) -> v = 0; goto revoked
                :: else -> v = 0; goto posted
                fi
            };
            atomic { drain_own(me); if :: V[S(p)] == mkv(p, PENDING) -> V[S(p)] = mkv(p, ACCEPTED) :: else fi; goto verdict };
revoked:
#ifndef HOLE_LATE_VERDICT
            atomic { d_step { drain_own(me); V[S(p)] = mkv(p, KNOWN) } }; /* nobody else changes dead(p): the slot is still ours */
#endif
            atomic { pend[me] = 0; is_void(p); goto fresh };
#ifdef ABANDON
            goto posted;
abandon:
#ifndef BUG_ABANDON_LATE
            /* a CAS that is repeated until it succeeds */
            atomic { d_step { drain_own(me); assert(wowner(W[S(p)]) == me + 1); V[S(p)] = mkv(p, KNOWN) } };
            atomic { d_step { assert(wowner(W[S(p)]) == me + 1); sb[me] = (p << 1) | wphase(w1); w1 = 0 } };
#else
            atomic { d_step { sb[me] = (p << 1) | wphase(w1); w1 = 0 } };
            atomic { d_step { drain_own(me); V[S(p)] = mkv(p, KNOWN) } };
#endif
            atomic { pend[me] = 0; is_void(p); goto fresh };
#endif
posted:
            atomic { d_step { pend[me] = 0; is_delivered(p); k++; p = 0; STEP } }
        :: else -> break
        od;
done:
        atomic {
            p = 0; k = 0; pend[me] = 0;
#ifdef FREEZE
            if :: alone -> goto over :: else fi
#endif
        };
enddone: false /* a live thread that posts no more; it can still die, or freeze the others */
    } unless {
        atomic {
            dead[me] == 1 -> dead[me] = 2;
            p = 0; c = 0; v = 0; e = 0; q = 0; got = 0; bits = 0; res = 0; r = 0; r1 = 0; t = 0; te = 0; nm = 0; w = 0; w1 = 0
#ifdef REBORN
            ; dead[me] = 0; goto born
#else
            ; k = 0
#endif
        }
    };
over:
    skip
}

#if DEATHS
/* Death at any moment; what the kernel does about it is part of it. */
proctype kernel() LIVE {
    byte n, i, s;
    do
    :: n < DEATHS ->
        if
        :: i = 0
#if POSTERS > 1
        :: i = 1
#endif
        fi;
endpicked:
        atomic { d_step {
            dead[i] == 0 ->
            dead[i] = 1;
            drain_own(i);
            if
            :: pend[i] ->
                if
                :: wowner(W[pend[i] - 1]) == i + 1 ->
                    W[pend[i] - 1] = (W[pend[i] - 1] & ~7) | 8
                :: else
                fi;
                pend[i] = 0
            :: else
            fi;
            /* nothing of the dead is held for ever */
            s = 0;
            do
            :: s < N ->
                assert(wowner(W[s]) != i + 1 || wphase(W[s]) == cphase(C[s]) && V[s] != mkv(cpos(C[s]), DEAD));
                s++
            :: else -> break
            od;
            s = 0; n++; i = 0
        } }
    :: else -> break
    od
}
#endif

/* Exact: delivered + reported as missed = what was delivered to anyone before the cursor. From `end` on, where that is later. */
#ifdef HOLE_JUMP
#define counted_from g0
#else
#define counted_from f0
#endif
inline exact() {
    i = FIRST;
    do
    :: i < cur ->
        if
#if NAMES > 1
        :: fate[i] == 1 && namedAs[i] == 1 -> n1++
        :: fate[i] == 1 && namedAs[i] == 0 -> n0++
#else
        :: fate[i] == 1 -> n0++
#endif
        :: else
        fi;
        i++
    :: else -> break
    od;
    assert(cur < counted_from || t0 == n0);
#if NAMES > 1
    assert(cur < f1 || t1 == n1);
#endif
    i = 0; n0 = 0; n1 = 0
}

proctype observer() LIVE {
#ifdef HOLE_JUMP
    byte g0;
#endif
    byte cur, c, v, res, r, r1, e, t0, f0;
#if NAMES > 1
    byte t1, f1;
#endif
    short w;
    byte i, n0, n1;
    cur = FIRST;
    f0 = 0;
end:
    do
    :: atomic { d_step { cur < END && wlap(W[S(cur)]) >= LAP(cur) -> skip } }; /* undecided: nothing yet */
        examine(cur, true, res);
        atomic {
            if
            :: res == 0 -> is_void(cur); cur++; exact(); goto next
            :: res == 1 ->
                is_delivered(cur);
                if
#if NAMES > 1
                :: rname(r) == 1 -> if :: cur >= f1 -> t1++ :: else fi
                :: rname(r) == 0 -> if :: cur >= f0 -> t0++ :: else fi
#else
                :: true -> if :: cur >= f0 -> t0++ :: else fi
#endif
                fi;
                r = 0; res = 0; cur++; exact(); goto next
            :: res == 2 -> res = 0; r = 0; skip
            fi
        };
        /* lapped: jump */
        atomic { d_step { e = EV; assert(estart(e) > cur) } };
#ifdef BUG_TALLY_TORN
        atomic { d_step { t0 = tally_count[0] } };
        atomic { d_step { f0 = tally_end[0] } };
#else
        atomic { d_step { t0 = tally_count[0]; f0 = tally_end[0] } };
#endif
#if NAMES > 1
        atomic { d_step { t1 = tally_count[1]; f1 = tally_end[1] } };
#endif
        atomic { d_step {
            cur = estart(e); e = 0;
            if :: f0 <= cur -> f0 = 0 :: else fi;
#if NAMES > 1
            if :: f1 <= cur -> f1 = 0 :: else fi;
#endif
            /* exact: as many as were delivered to anyone before `from` of that name */
            i = FIRST; n0 = 0; n1 = 0;
            do
            :: i < END && (i < cur || i < f0
#if NAMES > 1
                || i < f1
#endif
               ) ->
                if :: i < cur -> assert(fate[i]) :: else fi;
                if
#if NAMES > 1
                :: fate[i] == 1 && namedAs[i] == 1 && (i < cur || i < f1) -> n1++
                :: fate[i] == 1 && namedAs[i] == 0 && (i < cur || i < f0) -> n0++
#else
                :: fate[i] == 1 -> n0++
#endif
                :: else
                fi;
                i++
            :: else -> break
            od;
#ifdef HOLE_JUMP
            g0 = f0; f0 = 0;
            i = 0; n0 = 0; n1 = 0
#else
            assert(t0 == n0);
#if NAMES > 1
            assert(t1 == n1);
#endif
            i = 0; n0 = 0; n1 = 0
#endif
        } };
next:
        skip
    od
}

#ifdef FREEZE
proctype freezer() {
    atomic { d_step {
        alone == 0 ->
        if
        :: dead[0] == 0 -> alone = 2
#if POSTERS > 1
        :: dead[1] == 0 -> alone = 3
#endif
        fi
    } }
}
#endif

/* A store leaves the store buffer some time. */
proctype cpu() LIVE {
end:
    do
    :: atomic { d_step { sb[0] -> drain(0) } }
#if POSTERS > 1
    :: atomic { d_step { sb[1] -> drain(1) } }
#endif
#if POSTERS > 2
    :: atomic { d_step { sb[2] -> drain(2) } }
#endif
    od
}

init {
    atomic {
        byte i;
        do
        :: i < N -> C[i] = i << 1; V[i] = mkv(i, KNOWN); i++
        :: else -> break
        od;
        i = 0;
        EV = FIRST << 2; front = FIRST;
        run cpu();
        run poster(0);
#if POSTERS > 1
        run poster(1);
#endif
#if POSTERS > 2
        run poster(2);
#endif
#if OBS > 0
        run observer();
#endif
#if OBS > 1
        run observer();
#endif
#if DEATHS
        run kernel();
#endif
#ifdef FREEZE
        run freezer();
#endif
    }
}
