extension Scenario {
    /// Categories that one test function runs. There are several groups so that none takes more than a fifth of all
    /// scenarios' time.
    enum Group: CaseIterable {
        // Plain scenarios.
        case creation, access, sealed, ends, payloads, lossless, retained, names, loss, bounds, waking, deaths, prefixes
        case presence, requests, forks, many
        // Stepped ones.
        case chains, steppedPosts, steppedObservers, faultedPosts, faultedObservers, faultedLives, faultedCenters
        case steppedPresence, steppedRequests
        // Scenarios that are told again under a condition.
        case withoutMembarrier, withoutRobustLists, withoutPartsOfFiles, withoutProc, onAnOldKernel, withoutInotify
        case onOneProcessor, withoutTheWallClock

        var categories: [String] {
            switch self {
            case .creation: ["births", "foreign_files", "versions", "names_refused", "directories", "removal"]
            case .access: ["access", "readers", "adversarial_peers"]
            case .sealed: ["sealed", "handing"]
            case .ends: ["ends"]
            case .payloads: ["payloads", "sections", "holds", "bare"]
            case .lossless: ["threads", "lossless", "one_slow"]
            case .retained: ["retained", "retained_many_names"]
            case .names: ["names"]
            case .loss: ["loss"]
            case .bounds: ["contradictions", "bounds"]
            case .waking: ["wakes", "states"]
            case .deaths: ["orphan_states", "orphans", "stale_files", "kills", "stops"]
            case .presence: ["presence"]
            case .requests: ["requests", "parts"]
            case .steppedPresence: ["stepped_presence"]
            case .steppedRequests: ["stepped_requests", "stepped_calls"]
            case .prefixes: ["prefixes"]
            case .forks: ["forks", "descriptors"]
            case .many: ["many"]
            case .chains: ["chains"]
            case .steppedPosts: ["stepped_posts"]
            case .steppedObservers: ["stepped_observers", "stepped_holds"]
            case .faultedPosts: ["faulted_posts"]
            case .faultedObservers: ["faulted_observers"]
            case .faultedLives: ["faulted_lives"]
            case .faultedCenters: ["faulted_centers"]
            case .withoutMembarrier: ["without_membarrier"]
            case .withoutRobustLists: ["without_robust_lists"]
            case .withoutPartsOfFiles: ["without_parts_of_files"]
            case .withoutProc: ["without_proc"]
            case .onAnOldKernel: ["on_an_old_kernel"]
            case .withoutInotify: ["without_inotify"]
            case .onOneProcessor: ["on_one_processor"]
            case .withoutTheWallClock: ["without_the_wall_clock"]
            }
        }
    }
}
