/**
 * Names that Apple's system services post, under Apple's identifiers. On Linux nothing posts them, unless the
 * administrator arranges it (a udev rule, a hook of the network manager: `notifyutil -p NAME`).
 */
#ifndef NOTIFY_KEYS_H
#define NOTIFY_KEYS_H

/** Directory services: cached users, groups, hosts, services are out of date. */
#define kNotifyDSCacheInvalidation "com.apple.system.DirectoryService.InvalidateCache"
#define kNotifyDSCacheInvalidationGroup "com.apple.system.DirectoryService.InvalidateCache.group"
#define kNotifyDSCacheInvalidationHost "com.apple.system.DirectoryService.InvalidateCache.host"
#define kNotifyDSCacheInvalidationService "com.apple.system.DirectoryService.InvalidateCache.service"
#define kNotifyDSCacheInvalidationUser "com.apple.system.DirectoryService.InvalidateCache.user"

/** File systems: mounted, unmounted, changed, nearly full. */
#define kNotifyVFSMount "com.apple.system.kernel.mount"
#define kNotifyVFSUnmount "com.apple.system.kernel.unmount"
#define kNotifyVFSUpdate "com.apple.system.kernel.mountupdate"
#define kNotifyVFSLowDiskSpace "com.apple.system.lowdiskspace"
#define kNotifyVFSLowDiskSpaceRootFS "com.apple.system.lowdiskspace.system"
#define kNotifyVFSLowDiskSpaceOtherFS "com.apple.system.lowdiskspace.user"

/** The machine's name and network. */
#define kNotifySCHostNameChange "com.apple.system.hostname"
#define kNotifySCNetworkChange "com.apple.system.config.network_change"

/** The system log, the time zone, the clock. */
#define kNotifyASLDBUpdate "com.apple.system.logger.message"
#define kNotifyTimeZoneChange "com.apple.system.timezone"
#define kNotifyClockSet "com.apple.system.clock_set"

#endif
