/** The order in which a run of the suite starts its files. */
import { existsSync } from 'node:fs'

/** Files that take longest. They start early, so that the end of a run is not one of them alone. */
const LONG_FILES: readonly string[] = [
  'test/faults/coherence/replicas.test.ts',
  'test/system/reload/settings.test.ts',
  'test/system/packaging/packages.test.ts',
  'test/system/console/views.test.ts',
  'test/faults/suite/nodes.test.ts',
  'test/faults/redis.test.ts',
  'test/faults/suite/writes.test.ts',
  'test/unit/bench/session.test.ts',
  'test/faults/suite/master.test.ts',
  'test/system/console/work.test.ts',
  'test/contract/both/passthrough.test.ts',
  'test/unit/cache/listing-turns.test.ts',
  'test/system/process/check-newer-layout.test.ts',
  'test/unit/admin/reference.test.ts',
  'test/system/journeys/joined-faults.test.ts',
  'test/contract/both/service.test.ts',
  'test/faults/shared-slots.test.ts',
  'test/system/console/many-entries.test.ts',
  'test/faults/suite/overload.test.ts',
  'test/system/process/check-distribution.test.ts',
  'test/system/console/sign-in.test.ts',
  'test/unit/bench/scripts.test.ts',
  'test/system/console/cache-work.test.ts',
  'test/unit/listener/slow-clients.test.ts',
  'test/unit/join/node-pages.test.ts',
  'test/system/readiness/ready.test.ts',
  'test/system/console/drain.test.ts',
  'test/system/readiness/haproxy.test.ts',
  'test/system/console/history.test.ts',
  'test/unit/join/group-write-at-size.test.ts',
]

/**
 * Returns the files in the order of a run: every second one is a long file until all of them have started, so that long
 * files, which start browsers and many processes, are not beside each other only. Throws an error if a long file is missing.
 */
export function startOrder(files: readonly string[]): string[] {
  const missing = LONG_FILES.find((file) => !existsSync(file))
  if (missing !== undefined) throw new Error(`${missing} was moved or removed: change LONG_FILES`)
  const long = LONG_FILES.filter((file) => files.includes(file))
  const others = files.filter((file) => !long.includes(file))
  return [...long.flatMap((file, at) => [file, ...others.slice(at, at + 1)]), ...others.slice(long.length)]
}
