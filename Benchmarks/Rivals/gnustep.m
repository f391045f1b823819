// GNUstep's NSDistributedNotificationCenter through a private gdnc. The payload is an NSData in the user information, and each side runs its run
// loop until a notification has come. Ports are sockets with names of their own in /tmp. A sender is held back by what the other side has not
// taken yet (that goes past gdnc): gdnc dies of a full stack when it gets several dozen notifications faster than it can pass them on.
#include "rival.h"

#import <Foundation/Foundation.h>

#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { WINDOW = 16 };

@interface Listener : NSObject {
  @public
    NSMutableArray *heard;
}
- (void)hear:(NSNotification *)notification;
@end

@implementation Listener
- (void)hear:(NSNotification *)notification {
    [heard addObject:[[notification userInfo] objectForKey:@"payload"]];
}
@end

static NSDistributedNotificationCenter *center;
static Listener *listener;
static NSString *theirs;
static NSData *received;
static int taken[2], own;
static unsigned outstanding;

#define TEXT_OF(what) #what
#define TEXT(what) TEXT_OF(what)
static const char *version(void) { return TEXT(GNUSTEP_BASE_VERSION); }

static void start(void) {
    rival_private_mounts();
    for (int i = 0; i < 2; i++) rival_try((taken[i] = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE)) >= 0, "make an eventfd");
    setenv("HOME", rival_directory(), 1);
    rival_daemon((const char *const[]){"gdnc", "--no-fork", NULL});
}

// gdnc is there when it can be connected to; until then every attempt would start one more.
static void await_gdnc(void) {
    while ([[NSPortNameServer systemDefaultPortNameServer] portForName:@"GDNCServer" onHost:@""] == nil) [NSThread sleepForTimeInterval:0.001];
}

static void open_side(int side) {
    NSAutoreleasePool *pool = [NSAutoreleasePool new];
    await_gdnc();
    own = side;
    listener = [Listener new];
    listener->heard = [NSMutableArray new];
    theirs = side == 0 ? @"ping" : @"pong";
    center = [NSDistributedNotificationCenter defaultCenter];
    [center addObserver:listener
                  selector:@selector(hear:)
                      name:side == 0 ? @"pong" : @"ping"
                    object:nil
        suspensionBehavior:NSNotificationSuspensionBehaviorDeliverImmediately];
    [pool release];
}

static void send_one(const void *bytes, size_t size) {
    uint64_t one;
    if (outstanding == WINDOW) {
        rival_try(read(taken[own], &one, sizeof one) == sizeof one, "hear that one was taken");
        outstanding -= 1;
    }
    outstanding += 1;
    NSAutoreleasePool *pool = [NSAutoreleasePool new];
    NSDictionary *information = [NSDictionary dictionaryWithObject:[NSData dataWithBytes:bytes length:size] forKey:@"payload"];
    [center postNotificationName:theirs object:nil userInfo:information deliverImmediately:YES];
    [pool release];
}

static const void *receive(size_t *size) {
    NSAutoreleasePool *pool = [NSAutoreleasePool new];
    [received release];
    while ([listener->heard count] == 0) {
        [[NSRunLoop currentRunLoop] runMode:NSDefaultRunLoopMode beforeDate:[NSDate distantFuture]];
    }
    received = [[listener->heard objectAtIndex:0] retain];
    [listener->heard removeObjectAtIndex:0];
    [pool release];
    const uint64_t one = 1;
    rival_try(write(taken[1 - own], &one, sizeof one) == sizeof one, "tell that it was taken");
    *size = [received length];
    return [received bytes];
}

const rival this_rival = {.name = "gnustep", .version = version, .start = start, .open = open_side, .send = send_one, .receive = receive};
