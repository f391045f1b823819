# The C side without Swift: libtidings, libtidings-notify and notifyutil, with gcc or clang.
#
#     make                        shared and static libraries, notifyutil          make CC=clang
#     make install PREFIX=/usr    headers, libraries, pkg-config files, manual     DESTDIR=… for packagers
#     make check                  the scenarios of notify(3)
#     make install-command        the command `tidings`, which needs Swift: with completions for bash, zsh and fish, and its manual page
#     make docs                   reference and articles as a static site in .build-documentation/site, which needs Swift
#     make uninstall, make clean
#
# tidings_sqlite.so, the extension for SQLite, is built where the compiler finds sqlite3ext.h (libsqlite3-dev).
# libtidings-notify-dispatch (notify_register_dispatch) is built where the compiler knows blocks and finds Dispatch: DISPATCH=DIRECTORY says where its headers are (a Swift toolchain's usr/lib/swift).
CC ?= cc
CFLAGS ?= -O2 -g
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
BINDIR ?= $(PREFIX)/bin
MANDIR ?= $(PREFIX)/share/man
BUILD ?= .build-c
VERSION := 0.2.0
ABI := 0

own := -std=c11 -D_GNU_SOURCE -fPIC -Wall -Wextra -MMD -MP -ICShim/include -ICShim/notify/include
core := $(patsubst %.c,$(BUILD)/%.o,$(wildcard CShim/src/*/*.c))
notify := $(patsubst %.c,$(BUILD)/%.o,$(wildcard CShim/notify/src/*.c))
sqlite := $(patsubst %.c,$(BUILD)/%.o,$(wildcard CShim/sqlite/src/*.c))
peer := $(patsubst %.c,$(BUILD)/%.o,$(wildcard Tests/notify/*.c))
utility := $(patsubst %.c,$(BUILD)/%.o,$(wildcard CShim/notify/util/*.c))
dispatch := $(BUILD)/CShim/notify/dispatch/src/dispatch.o

swift := $(shell command -v swiftc 2>/dev/null)
DISPATCH ?= $(if $(swift),$(abspath $(dir $(realpath $(swift)))../lib/swift))
has_dispatch := $(shell echo '__BLOCKS__' | $(CC) -fblocks -E -x c - 2>/dev/null | grep -q '^1' && test -e "$(DISPATCH)/dispatch/dispatch.h" && echo yes)
has_sqlite := $(shell echo '\#include <sqlite3ext.h>' | $(CC) -E -x c - >/dev/null 2>&1 && echo yes)
with_blocks := -fblocks -I$(DISPATCH)
blocks_libraries := -L$(DISPATCH)/linux -Wl,-rpath,$(DISPATCH)/linux -ldispatch -lBlocksRuntime

libraries := libtidings libtidings-notify $(if $(has_dispatch),libtidings-notify-dispatch)
# Where the loader doesn't look by itself, the pkg-config files tell programs to look.
rpath := $(if $(filter /usr/lib /usr/lib/% /lib /lib/% /usr/local/lib,$(LIBDIR)),,-Wl,-rpath,$(LIBDIR))
extension := $(if $(has_sqlite),$(BUILD)/tidings_sqlite.so)
headers := CShim/include/tidings.h $(if $(has_sqlite),CShim/sqlite/include/tidings_sqlite.h) CShim/notify/include/notify.h CShim/notify/include/notify_private.h CShim/notify/include/notify_keys.h
manual := $(wildcard CShim/notify/man/*)

.PHONY: all check docs install install-command uninstall clean
all: $(libraries:%=$(BUILD)/%.so) $(libraries:%=$(BUILD)/%.a) $(extension) $(if $(utility),$(BUILD)/notifyutil)

$(core): own += -ICShim/src
$(sqlite): own += -fvisibility=hidden -ICShim/sqlite/include
$(dispatch): own += $(with_blocks)
$(peer) $(utility): own += $(if $(has_dispatch),$(with_blocks))
$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(own) $(CFLAGS) -c $< -o $@

$(BUILD)/libtidings.a: $(core)
$(BUILD)/libtidings-notify.a: $(notify)
$(BUILD)/libtidings-notify-dispatch.a: $(dispatch)
$(BUILD)/%.a:
	rm -f $@ && $(AR) rcs $@ $^

$(BUILD)/libtidings.so: $(core)
$(BUILD)/libtidings-notify.so: $(notify) $(BUILD)/libtidings.so
$(BUILD)/libtidings-notify-dispatch.so: $(dispatch) $(BUILD)/libtidings-notify.so $(BUILD)/libtidings.so
# They find libtidings beside them, wherever a program that is linked with them alone was told to look.
$(BUILD)/libtidings-notify.so $(BUILD)/libtidings-notify-dispatch.so: private beside = -Wl,--enable-new-dtags,-rpath,'$$ORIGIN'
$(BUILD)/libtidings-notify-dispatch.so: private link = $(blocks_libraries)
$(BUILD)/%.so: CShim/notify/exports/%.map
	$(CC) $(CFLAGS) -shared $(beside) -Wl,-soname,$(@F).$(ABI) -Wl,--version-script=$< -Wl,-z,defs -Wl,-Bsymbolic-functions \
		$(filter %.o,$^) $(filter %.so,$^) $(LDFLAGS) $(link) -lpthread -o $@
	ln -sf $(@F) $@.$(ABI)

# SQLite loads the file by this name. It passes its functions itself, so nothing of SQLite is linked.
$(BUILD)/tidings_sqlite.so: $(sqlite) $(BUILD)/libtidings.so
	$(CC) $(CFLAGS) -shared -Wl,--enable-new-dtags,-rpath,'$$ORIGIN' -Wl,-z,defs $^ $(LDFLAGS) -lpthread -ldl -o $@

static := $(foreach library,$(if $(has_dispatch),libtidings-notify-dispatch) libtidings-notify libtidings,$(BUILD)/$(library).a)
$(BUILD)/NotifyPeer: $(peer) $(static)
	$(CC) $(CFLAGS) $^ $(LDFLAGS) $(if $(has_dispatch),$(blocks_libraries)) -lpthread -o $@

$(BUILD)/notifyutil: $(utility) $(static)
	$(CC) $(CFLAGS) $^ $(LDFLAGS) $(if $(has_dispatch),$(blocks_libraries)) -lpthread -o $@

check: $(BUILD)/NotifyPeer
	Tests/notify/tell.sh $<

install: all
	install -d $(DESTDIR)$(LIBDIR)/pkgconfig $(DESTDIR)$(INCLUDEDIR) $(DESTDIR)$(BINDIR) $(DESTDIR)$(MANDIR)/man1 $(DESTDIR)$(MANDIR)/man3
	install -m 644 $(headers) $(DESTDIR)$(INCLUDEDIR)
	for library in $(libraries); do \
		install -m 644 $(BUILD)/$$library.a $(DESTDIR)$(LIBDIR) && \
		install -m 755 $(BUILD)/$$library.so $(DESTDIR)$(LIBDIR)/$$library.so.$(VERSION) && \
		ln -sf $$library.so.$(VERSION) $(DESTDIR)$(LIBDIR)/$$library.so.$(ABI) && \
		ln -sf $$library.so.$(ABI) $(DESTDIR)$(LIBDIR)/$$library.so && \
		sed -e 's|@PREFIX@|$(PREFIX)|; s|@LIBDIR@|$(LIBDIR)|; s|@INCLUDEDIR@|$(INCLUDEDIR)|; s|@VERSION@|$(VERSION)|; s|@RPATH@|$(rpath)|; s|@DISPATCH@|$(DISPATCH)|g' \
			CShim/notify/pkgconfig/$${library#lib}.pc.in >$(DESTDIR)$(LIBDIR)/pkgconfig/$${library#lib}.pc || exit 1; \
	done
	if test -n "$(extension)"; then install -m 755 $(extension) $(DESTDIR)$(LIBDIR); fi
	for page in $(manual); do install -m 644 $$page $(DESTDIR)$(MANDIR)/man$${page##*.} || exit 1; done
	if test -e $(BUILD)/notifyutil; then install -m 755 $(BUILD)/notifyutil $(DESTDIR)$(BINDIR); fi

COMMAND ?= $(shell swift build -c release --show-bin-path)/tidings
completions := bash-completion/completions/tidings zsh/site-functions/_tidings fish/vendor_completions.d/tidings.fish
install-command:
	$(if $(filter file,$(origin COMMAND)),swift build -c release --product tidings)
	install -d $(DESTDIR)$(BINDIR) $(DESTDIR)$(MANDIR)/man1 $(addprefix $(DESTDIR)$(PREFIX)/share/,$(dir $(completions)))
	install -m 755 $(COMMAND) $(DESTDIR)$(BINDIR)/tidings
	install -m 644 Docs/Manual/tidings.1 $(DESTDIR)$(MANDIR)/man1
	for file in $(completions); do \
		$(COMMAND) --generate-completion-script $${file%%[-/]*} >$(DESTDIR)$(PREFIX)/share/$$file || exit 1; \
	done

docs:
	swift build
	.ci/documentation "$$(swift build --show-bin-path)"
	@echo "to read it: python3 -m http.server -d .build-documentation/site, and open http://localhost:8000/"

uninstall:
	for header in $(notdir $(headers)); do rm -f $(DESTDIR)$(INCLUDEDIR)/$$header; done
	for library in $(libraries); do rm -f $(DESTDIR)$(LIBDIR)/$$library.a $(DESTDIR)$(LIBDIR)/$$library.so* $(DESTDIR)$(LIBDIR)/pkgconfig/$${library#lib}.pc; done
	for page in $(notdir $(manual)); do rm -f $(DESTDIR)$(MANDIR)/man$${page##*.}/$$page; done
	rm -f $(DESTDIR)$(LIBDIR)/tidings_sqlite.so
	rm -f $(DESTDIR)$(BINDIR)/notifyutil $(DESTDIR)$(BINDIR)/tidings $(DESTDIR)$(MANDIR)/man1/tidings.1 $(addprefix $(DESTDIR)$(PREFIX)/share/,$(completions))

clean:
	rm -rf $(BUILD)

-include $(core:.o=.d) $(notify:.o=.d) $(sqlite:.o=.d) $(peer:.o=.d) $(utility:.o=.d) $(dispatch:.o=.d)
