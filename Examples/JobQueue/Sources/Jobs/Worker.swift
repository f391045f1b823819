import Tidings

/// Does the queued jobs, and sleeps until a commit of any process queues others.
func work(on queue: JobQueue) async throws {
    // Presence in place of a lease with a time: a job is released within milliseconds of its worker's death, a slow
    // worker keeps its job, and no clock is read. The order of the next three lines matters. A worker announces itself
    // before it claims a job. So each of the busy workers that is alive is in the list with which presence begins, and
    // this worker's own `joined` comes after that list.
    let busy = try await queue.busyWorkers()
    let presence = try queue.workers.presence().register()
    let announcement = try queue.workers.announce(role: "worker")

    try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask {
            var suspects = busy
            for await change in presence {
                switch change {
                case .joined(let worker) where worker.id == announcement.participant.id:
                    for dead in suspects { try await queue.release(jobsOf: dead) }
                    suspects = []
                case .joined(let worker): suspects.remove(worker.id)
                case .left(let worker, _): try await queue.release(jobsOf: worker.id)
                }
            }
        }
        group.addTask {
            for try await counts in queue.counts() where counts.queued > 0 {
                while let job = try await queue.claim(for: announcement.participant.id) {
                    let result = String(job.task.reversed())  // the work
                    if try await !queue.finish(job, result) { print("job \(job.id) was released: its result is void") }
                }
            }
        }
        try await group.next()  // throws the first error of the two
    }
}
