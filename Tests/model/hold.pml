/* Tidings: holds. A payload is read in its chunk while posters take chunks, evicting threads promote and drop values,
 * and participants die (CShim/design/8-holds.md). Every atomic block has ONE access to shared memory; the rest of it is
 * local or ghost. See README.md for what is left out.
 *
 * Configuration:  CHUNKS (2)    LAST position (3)     KINDS of posts (3): 1 plain, 2 retained, 4 clear
 *                 POSTERS (1)   POSTS per poster (2)  EVICTS of a thread that only evicts (0)
 *                 HOLDERS (1)   HOLDS per holder (2)  DEATHS (0); MORTAL: only holders (1), only posters (2), both (3)
 *                 FREEZE: from any state on, one poster runs alone. It must end within BOUND of its steps
 *                 E_BEFORE_WORD, WORD_BEFORE_E: the holder, or the poster, loads the two in the other order
 * Planted bugs, which the checker must find (BUG_*): see run.sh.
 */
#ifndef CHUNKS
#define CHUNKS 2
#endif
#ifndef LAST
#define LAST 3
#endif
#ifndef KINDS
#define KINDS 3
#endif
#ifndef POSTERS
#define POSTERS 1
#endif
#ifndef POSTS
#define POSTS 2
#endif
#ifndef EVICTS
#define EVICTS 0
#endif
#ifndef HOLDERS
#define HOLDERS 1
#endif
#ifndef HOLDS
#define HOLDS 2
#endif
#ifndef DEATHS
#define DEATHS 0
#endif
#ifndef MORTAL
#define MORTAL 1
#endif

/* Chunk word: 7…5 position (0: none yet), 4…3 owner + 1 or the held bit, 2…0 state */
#define FREE 0
#define OWNED 1
#define IN_RING 2
#define RETAINED 3
#define DROPPED 4
#define mkw(p, x, st) (((p) << 5) | ((x) << 3) | (st))
#define wpos(w) ((w) >> 5)
#define wowner(w) (((w) >> 3) & 3)
#define wst(w) ((w) & 7)
#define wheld(w) (wst(w) != OWNED && wowner(w) == 1)
#define mkhold(p, c) (((p) << 3) | ((c) + 1))

/* Kinds of records, and the states of a position. VALID and VOID are final. */
#define PLAIN 1
#define RETAIN 2
#define CLEAR 4
#define NONE 0
#define CLAIMED 1
#define VALID 2
#define VOID 3

/* The name entry's retained word: position, chunk + 1; 3: cleared */
#define mkr(p, x) (((p) << 2) | (x))

byte W[CHUNKS];
byte E = 1;
byte status[LAST + 2], kind[LAST + 2], record[LAST + 2]; /* record: its chunk. Written before the commit */
byte front = 1;
byte R;
byte entry[HOLDERS], inst[HOLDERS]; /* instance: 1 alive, 2 declared dead, 0 free */
bit used[HOLDERS]; /* holds_used and held_end: posters read this row */
byte sb[HOLDERS]; /* store buffer for the entry: 0 empty */
byte dead[HOLDERS + POSTERS + 1]; /* 0 running, 1 killed, 2 gone, 3 ended by itself */

/* Ghosts */
byte body[CHUNKS]; /* the position whose payload the chunk has; 0: half written */
byte reading[HOLDERS]; /* chunk + 1, while a hold counts */
bit final; /* all processes have ended: a last poster takes every chunk */
#ifdef FREEZE
byte alone; /* its _pid */
byte steps;
#define LIVE provided (alone == 0 || alone == _pid)
#define STEP if :: alone -> steps++; assert(steps <= BOUND) :: else fi
#ifndef BOUND
#define BOUND 12
#endif
#else
#define LIVE
#define STEP skip
#endif
#if defined(BUG_BIT_FIRST) || defined(BUG_ENTRY_LAST)
#define ENTRY_LATE
#endif

inline drain(i) { if :: sb[i] -> entry[i] = sb[i]; sb[i] = 0 :: else fi }

#define takeable(w, e) (wst(w) == FREE || wst(w) == DROPPED || wst(w) == IN_RING && wpos(w) < (e))

/* Invariant H5 */
#ifdef BUG_HELD_FREED
#define freed(w) 0
#else
#ifdef BUG_DROPPED_IN_RING
#define freed(w) (wheld(w) -> mkw(wpos(w), 1, IN_RING) : 0)
#else
#define freed(w) (wheld(w) -> mkw(wpos(w), 1, DROPPED) : 0)
#endif
#endif

#if HOLDERS > 1
#define found(c, w) (inst[0] == 1 && entry[0] == mkhold(wpos(w), c) || inst[1] == 1 && entry[1] == mkhold(wpos(w), c))
#define read_by_another(c) (reading[0] == (c) + 1 || reading[1] == (c) + 1)
#else
#define found(c, w) (inst[0] == 1 && entry[0] == mkhold(wpos(w), c))
#define read_by_another(c) (reading[0] == (c) + 1)
#endif

/* No holder reads what a poster writes, and no other poster has the chunk. */
inline write(c, what) {
    assert(wst(W[c]) == OWNED && wowner(W[c]) == me + 1);
    assert(!read_by_another(c));
    body[c] = what
}

/* Evicts position E. Every thread that evicts may stop anywhere, and go on after the others have moved E. */
inline evict() {
    atomic { e = E; STEP };
    /* revokes it, if it is claimed */
    atomic {
        if
        :: status[e] == NONE -> goto evicted
        :: status[e] == CLAIMED -> status[e] = VOID; kind[e] = 0; record[e] = 0; goto counted
        :: status[e] == VOID -> goto counted
        :: status[e] == VALID ->
            if
            :: kind[e] == PLAIN -> goto counted
            :: kind[e] == RETAIN -> q = record[e]; goto keep
            :: kind[e] == CLEAR -> q = 2
            fi
        fi
    };
    atomic { if :: E > e -> q = 0; goto counted :: else goto promote fi };
keep:
    atomic {
        w = W[q];
        if
        :: wpos(w) == e && wst(w) == RETAINED -> w = 0; goto promote
        :: wpos(w) == e && (wst(w) == OWNED || wst(w) == IN_RING) -> skip
        :: else -> w = 0; q = 0; goto counted
        fi
    };
    atomic {
        if
        :: W[q] == w ->
#ifdef BUG_PROMOTED_WITHOUT_BIT
            W[q] = mkw(e, 0, RETAINED);
#else
            W[q] = mkw(e, wheld(w), RETAINED);
#endif
            w = 0
        :: else -> w = 0; goto keep
        fi
    };
promote:
    atomic {
        v = R;
        if
        :: v == mkr(e, q + 1) -> v = 0; q = 0; goto counted
        :: v != mkr(e, q + 1) && (v >> 2) >= e -> v = mkr(e, q + 1); q = 0; goto drop
        :: else
        fi
    };
    atomic { if :: R == v -> R = mkr(e, q + 1); q = 0 :: else -> v = 0; goto promote fi };
drop:
    if :: (v & 3) == 0 || (v & 3) == 3 -> v = 0; goto counted :: else fi;
    atomic {
        w = W[(v & 3) - 1];
        if :: wst(w) == RETAINED && wpos(w) == v >> 2 -> skip :: else -> w = 0; v = 0; goto counted fi
    };
    atomic { if :: W[(v & 3) - 1] == w -> W[(v & 3) - 1] = freed(w); w = 0; v = 0 :: else -> w = 0; goto drop fi };
counted:
    atomic { if :: E == e -> E = e + 1 :: else fi };
evicted:
    skip
}

proctype poster(byte me) LIVE {
    byte k, n, w, e, r, h, p, q, v;
    bit chunk, again; /* chunk: the post needs one; again: no chunk was found once */
    {
        if :: final -> r = front - 1; goto help :: else fi;
post:
        do
        :: k < POSTS || final ->
#if KINDS & 4
            if :: !final -> goto claim :: skip fi;
#endif
            chunk = 1;
search:
            atomic {
                STEP; n = 0; r = 0;
#ifndef WORD_BEFORE_E
                e = E
#endif
            };
            do
            :: n < CHUNKS ->
#ifdef BUG_ENTRIES_BEFORE_WORD
                atomic { d_step { h = entry[0] } };
#endif
                atomic {
                    w = W[n];
#ifdef WORD_BEFORE_E
                };
                atomic {
                    e = E;
#endif
                    if
#ifdef BUG_ENTRIES_BEFORE_E
                    :: wst(w) == IN_RING && wheld(w) -> skip
#endif
#ifdef BUG_HELD_BIT_FOR_EVER
                    :: takeable(w, e) && wheld(w) -> goto next
#else
                    :: takeable(w, e) && wheld(w) -> skip
#endif
                    :: takeable(w, e) && !wheld(w) -> goto take
                    :: wst(w) == IN_RING && wpos(w) >= e ->
                        /* a hint only: the list of what is held */
                        if
                        :: wheld(w) && found(n, w) -> skip
                        :: else -> if :: r == 0 || wpos(w) < r -> r = wpos(w) :: else fi
                        fi;
                        goto next
                    :: else -> goto next
                    fi
                };
#ifdef BUG_ENTRIES_BEFORE_WORD
                if :: h == mkhold(wpos(w), n) -> h = 0; goto next :: else -> h = 0; goto take fi;
#endif
                do
                :: h < HOLDERS ->
                    atomic { if :: inst[h] != 1 -> goto next_row :: else fi };
                    atomic { if :: !used[h] -> goto next_row :: else fi };
                    atomic {
                        if
                        :: entry[h] == mkhold(wpos(w), n) ->
                            h = 0;
#ifdef BUG_WAIT_HELD
                            goto search
#else
                            goto next
#endif
                        :: else
                        fi
                    };
next_row:
                    h++
                :: else -> break
                od;
                h = 0;
#ifdef BUG_ENTRIES_BEFORE_E
                atomic { e = E; if :: takeable(w, e) -> skip :: else -> goto next fi };
#endif
take:
                atomic {
#if defined(BUG_TAKE_BY_STORE)
                    if
                    :: true -> W[n] = mkw(0, me + 1, OWNED); w = 0; goto taken
#elif defined(BUG_TAKE_RELOADED)
                    if
                    :: takeable(W[n], e) -> W[n] = mkw(0, me + 1, OWNED); w = 0; goto taken
#else
                    if
                    :: W[n] == w -> W[n] = mkw(0, me + 1, OWNED); w = 0; goto taken
#endif
                    :: else
                    fi
                };
next:
                n++; w = 0
            :: else -> break
            od;
            n = 0;
            if
            :: r -> goto help
            :: !r && again ->
                /* -EAGAIN. At the end: only the name's value is missing */
                assert(!final || k + (((R & 3) && (R & 3) != 3) -> 1 : 0) == CHUNKS);
                again = 0; chunk = 0; k++;
                if :: final -> break :: else goto post fi
            :: else -> again = 1
            fi;
            /* values that are not needed any more */
            do
            :: n < CHUNKS ->
                atomic { w = W[n]; if :: wst(w) == RETAINED -> skip :: else -> goto needed fi };
                atomic { if :: wpos(w) < E -> skip :: else -> goto needed fi };
                atomic { if :: R == mkr(wpos(w), n + 1) -> goto needed :: else fi };
                atomic { if :: W[n] == w -> W[n] = freed(w) :: else fi };
needed:
                n++; w = 0
            :: else -> break
            od;
            goto search;
help:
            evict();
            if :: e < r -> goto help :: else fi;
            if :: chunk -> goto search :: else goto post fi;
taken:
            atomic { d_step { write(n, 0); r = 0; again = 0; e = 0 } };
            if :: final -> n = 0; k++; goto post :: else fi;
claim:
            atomic {
                STEP;
                if
                :: front > LAST -> skip
                :: else ->
                    p = front; front++; status[p] = CLAIMED;
                    if
                    :: !chunk -> kind[p] = CLEAR; goto commit
#if KINDS & 1
                    :: chunk -> kind[p] = PLAIN; record[p] = n; goto claimed
#endif
#if KINDS & 2
                    :: chunk -> kind[p] = RETAIN; record[p] = n; goto claimed
#endif
                    fi
                fi
            };
            if :: chunk -> atomic { d_step { W[n] = FREE } } :: else fi;
            goto done;
claimed:
            atomic { d_step { write(n, p); W[n] = mkw(p, me + 1, OWNED) } };
commit:
            atomic {
                if
                :: status[p] == CLAIMED -> status[p] = VALID; if :: !chunk -> goto posted :: else fi
                :: else -> p = 0; goto claim
                fi
            };
#ifdef BUG_PUBLISHED_BY_STORE
            atomic { d_step { W[n] = mkw(p, 0, IN_RING) } };
#else
            atomic { d_step { if :: W[n] == mkw(p, me + 1, OWNED) -> W[n] = mkw(p, 0, IN_RING) :: else fi } };
#endif
posted:
            atomic { p = 0; n = 0; chunk = 0; k++ }
        :: else -> break
        od;
done:
        atomic { k = 0; chunk = 0; n = 0; p = 0; e = 0; r = 0; again = 0; dead[HOLDERS + me] = 3 }
    } unless {
        atomic {
            dead[HOLDERS + me] == 1 ->
            dead[HOLDERS + me] = 2;
            k = 0; chunk = 0; n = 0; w = 0; e = 0; r = 0; h = 0; p = 0; q = 0; v = 0; again = 0
        }
    }
}

#if EVICTS
proctype evictor() LIVE {
    byte k, e, q, v, w;
end:
    do
    :: k < EVICTS ->
endnone:
        status[E] == VALID || status[E] == CLAIMED; /* no step of the thread: it evicts when there is something */
        evict();
        atomic { e = 0; k++ }
    :: else -> break
    od
}
#endif

inline counts() { reading[me] = c + 1; assert(body[c] == p) }
#ifdef ENTRY_LATE
inline is_retained() { skip }
#else
inline is_retained() { counts() }
#endif

/* Entry, raised row and full barrier */
inline note() {
#ifndef BUG_ROW_RAISED_LATE
    atomic { d_step { used[me] = 1 } };
#endif
    /* A CAS from 0: the row is this participant's, and the entry is free */
    atomic { if :: entry[me] -> goto done :: else -> sb[me] = mkhold(p, c) fi };
#ifndef BUG_NO_BARRIER
    atomic { d_step { drain(me) } };
#endif
}

proctype holder(byte me) LIVE {
    byte k, p, c, w;
    bit ok;
born:
    {
        do
        :: k < HOLDS ->
            /* Any valid record: of the ring, evicted, or a value */
endnone:    atomic {
                if
                :: status[1] == VALID && kind[1] != CLEAR -> p = 1
#if LAST > 1
                :: status[2] == VALID && kind[2] != CLEAR -> p = 2
#endif
#if LAST > 2
                :: status[3] == VALID && kind[3] != CLEAR -> p = 3
#endif
#if LAST > 3
                :: status[4] == VALID && kind[4] != CLEAR -> p = 4
#endif
                fi;
                c = record[p]
            };
#ifdef BUG_E_BEFORE_ENTRY
            atomic { d_step { ok = E <= p } };
#endif
#ifndef ENTRY_LATE
            note();
#endif
#ifdef E_BEFORE_WORD
            atomic { d_step { ok = E <= p } };
#endif
mark:
            atomic {
                w = W[c];
                if
#ifdef BUG_WORD_NOT_CHECKED
                :: wst(w) == IN_RING || wst(w) == RETAINED ->
#else
                :: wpos(w) == p && (wst(w) == IN_RING || wst(w) == RETAINED) ->
#endif
                    if
                    :: wheld(w) && wst(w) == RETAINED -> w = 0;
                        is_retained();
                        goto marked
                    :: wheld(w) && wst(w) == IN_RING -> w = 0; goto look
                    :: else
                    fi
                :: wpos(w) == p && wst(w) == OWNED -> skip
                :: else -> w = 0; goto fail
                fi
            };
            atomic {
                if
                :: W[c] == w ->
                    drain(me); /* a locked instruction */
                    W[c] = mkw(wpos(w), 1, (wst(w) == RETAINED -> RETAINED : IN_RING));
                    if
                    :: wst(w) == RETAINED -> w = 0;
                        is_retained();
                        goto marked
                    :: else -> w = 0
                    fi
                :: else -> w = 0; goto mark
                fi
            };
look:
#ifdef BUG_BIT_FIRST
            note();
#endif
#if defined(BUG_NO_LOOK_AT_E)
            atomic { d_step { counts() } };
#elif defined(E_BEFORE_WORD) || defined(BUG_E_BEFORE_ENTRY)
            atomic { if :: ok -> ok = 0; counts() :: else -> goto fail fi };
#elif defined(BUG_ENTRY_LAST)
            atomic { if :: E <= p -> skip :: else -> goto fail fi };
#else
            atomic { if :: E <= p -> counts() :: else -> goto fail fi };
#endif
marked:
#ifdef ENTRY_LATE
            if :: !reading[me] -> note(); atomic { d_step { counts() } } :: else fi;
#endif
#ifdef BUG_ROW_RAISED_LATE
            atomic { d_step { used[me] = 1 } };
#endif
#ifdef BUG_RELEASED_BEFORE_READ
            atomic { d_step { drain(me); entry[me] = 0 } };
#endif
            atomic { d_step { assert(body[c] == p); reading[me] = 0; drain(me); entry[me] = 0 } };
            goto left;
fail:
            atomic { d_step { drain(me); if :: entry[me] == mkhold(p, c) -> entry[me] = 0 :: else fi } };
left:
            atomic { ok = 0; p = 0; c = 0; k++ }
        :: else -> break
        od;
done:
        atomic { k = 0; p = 0; c = 0; ok = 0; dead[me] = 3; goto over }
    } unless {
        atomic { dead[me] == 1 -> dead[me] = 2; k = HOLDS - 1; p = 0; c = 0; w = 0; ok = 0 }
    };
    /* Another participant takes the row. */
endreclaimed:
    atomic { inst[me] == 0 -> inst[me] = 1; dead[me] = 0; goto born };
over:
    skip
}

#if DEATHS
/* A participant dies at any moment. Then another one declares it dead, and reclaims what it left. */
proctype reclaimer() LIVE {
    byte i, n, c, w, x, e;
    do
    :: n < DEATHS ->
        if
#if MORTAL & 1
        :: i = 0
#if HOLDERS > 1
        :: i = 1
#endif
#endif
#if MORTAL & 2
        :: i = HOLDERS
#if POSTERS > 1
        :: i = HOLDERS + 1
#endif
#endif
        fi;
endpicked:
#ifdef BUG_DECLARED_ALIVE
        atomic { d_step { dead[i] == 0 -> skip } };
#else
        atomic { d_step { dead[i] == 0 -> dead[i] = 1; if :: i < HOLDERS -> drain(i); reading[i] = 0 :: else fi } };
#endif
        if
        :: i < HOLDERS ->
            atomic { d_step { inst[i] = 2 } };
#ifdef BUG_ROW_FREE_FIRST
            atomic { d_step { inst[i] = 0 } };
#endif
#ifndef BUG_ENTRY_NOT_CLEARED
            atomic { d_step { entry[i] = 0 } };
#endif
            atomic { d_step { used[i] = 0 } };
#ifndef BUG_ROW_FREE_FIRST
            atomic { d_step { inst[i] = 0 } };
#endif
        :: else ->
            do
            :: c < CHUNKS ->
                atomic {
                    w = W[c];
                    if
                    :: wst(w) == OWNED && wowner(w) == i - HOLDERS + 1 -> skip
                    :: else -> w = 0; goto next
                    fi
                };
                if
                :: wpos(w) ->
                    atomic { d_step { e = E } };
                    atomic { d_step {
                        if :: wpos(w) >= e && status[wpos(w)] == VALID -> x = mkw(wpos(w), 0, IN_RING) :: else fi
                    } }
                :: else
                fi;
#ifdef BUG_RECLAIMED_BY_STORE
                atomic { d_step { W[c] = x; w = 0; x = 0; e = 0 } };
#else
                atomic { d_step { if :: W[c] == w -> W[c] = x :: else fi; w = 0; x = 0; e = 0 } };
#endif
next:
                c++
            :: else -> break
            od;
            c = 0
        fi;
        n++; i = 0
    :: else -> break
    od
}
#endif

#ifdef FREEZE
/* The posters are the first processes after init. */
proctype freezer() {
end:
    atomic { d_step {
        if
        :: dead[HOLDERS] == 0 -> alone = 1
#if POSTERS > 1
        :: dead[HOLDERS + 1] == 0 -> alone = 2
#endif
        fi
    } }
}
#else
/* A store leaves the store buffer some time. */
proctype cpu() {
end:
    do
    :: atomic { d_step { sb[0] -> drain(0) } }
#if HOLDERS > 1
    :: atomic { d_step { sb[1] -> drain(1) } }
#endif
    od
}

/* At the end: each chunk can be taken, but the name's value. */
proctype auditor() {
    atomic { timeout -> final = 1; run poster(POSTERS) }
}
#endif

init {
    atomic {
        inst[0] = 1;
        run poster(0);
#if POSTERS > 1
        run poster(1);
#endif
        run holder(0);
#if HOLDERS > 1
        inst[1] = 1;
        run holder(1);
#endif
#if EVICTS
        run evictor();
#endif
#if DEATHS
        run reclaimer();
#endif
#ifdef FREEZE
        run freezer()
#else
        run cpu();
        run auditor()
#endif
    }
}
