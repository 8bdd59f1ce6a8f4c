/**
 * The part of the suite that `npm run test:proofs` runs, and `npm test` does not: the long forms, which take much time, and fail
 * seldom. Continuous integration runs both. test/README.md names the smallest form of each family, which `npm test` runs.
 */

/** Beginnings of paths. */
const PROOFS: readonly string[] = [
  // Planted faults, which checkers must find.
  'test/faults/coherence/replicas.test.ts',
  'test/faults/protocol/',
  'test/faults/suite/framework.test.ts',
  'test/faults/suite/planted.test.ts',
  'test/system/snapshots/one-answer/',
  'test/unit/http/framing/',
  // The console and the reference pages in a browser.
  'test/system/console/',
  // Faults under load, with replicas as processes, and of Redis with sentinels or as a cluster.
  'test/faults/redis-commands.test.ts',
  'test/faults/redis-failover.test.ts',
  'test/faults/redis-single-fetch.test.ts',
  'test/faults/redis-slots.test.ts',
  'test/faults/redis.test.ts',
  'test/faults/shared-slots.test.ts',
  'test/faults/suite/clock.test.ts',
  'test/faults/suite/master.test.ts',
  'test/faults/suite/nodes.test.ts',
  'test/faults/suite/overload.test.ts',
  'test/faults/suite/rolling-restart.test.ts',
  'test/faults/suite/writes.test.ts',
  'test/system/readiness/every-redis-state.test.ts',
  'test/system/readiness/haproxy-outages.test.ts',
  'test/system/readiness/haproxy-stalled.test.ts',
  'test/unit/cache/stores/cluster.test.ts',
  'test/unit/cache/stores/failover.test.ts',
  'test/unit/cache/stores/link-faults.test.ts',
  // All endpoints, all recorded exchanges or all settings once more. `npm test` has four passes over all endpoints:
  // test/contract/both/service, newer/replay, newer-contract/passed-on and replay/recorded-responses.
  'packages/simulator/test/newer/recorded-contract.test.ts',
  'test/contract/both/passthrough.test.ts',
  'test/contract/newer/messages.test.ts',
  'test/contract/newer/releases.test.ts',
  'test/contract/replay/stored-responses.test.ts',
  'test/contract/responses/schemas.test.ts',
  'test/contract/simulator/shapes.test.ts',
  'test/system/console-api/miss-stages.test.ts',
  'test/system/journeys/explain-every-endpoint.test.ts',
  'test/system/newer-contract/lost-workers.test.ts',
  'test/system/newer-contract/rights/matrix.test.ts',
  'test/system/newer/same-world/',
  'test/system/reload/every-setting.test.ts',
  // Every regular expression against a check of its complexity.
  'test/unit/regular-expressions.test.ts',
  // Sizes: time and memory with many entries, rows, users or URLs.
  'test/system/journeys/group-write-at-size.test.ts',
  'test/unit/access/bounded-memory.test.ts',
  'test/unit/cache/index-at-size.test.ts',
  'test/unit/cache/listing-turns.test.ts',
  'test/unit/cache/snapshots/joined-turns.test.ts',
  'test/unit/cache/snapshots/large.test.ts',
  'test/unit/cache/snapshots/turns.test.ts',
  'test/unit/cache/stores/distinct-urls.test.ts',
  'test/unit/join/group-write-at-size.test.ts',
  'test/unit/join/merge-rules-at-size.test.ts',
  // The own tests of the benchmarks and of the workers of the suite.
  'test/system/process/benchmark-cases.test.ts',
  'test/unit/bench/',
  'test/unit/suite/pool.test.ts',
  // Packages and generated clients.
  'packages/clients/test/clients.test.ts',
  'test/system/api-client/client.test.ts',
  'test/system/packaging/image-run.test.ts',
  'test/system/packaging/installation.test.ts',
  'test/system/packaging/node-versions.test.ts',
  'test/system/packaging/npm.test.ts',
  'test/system/packaging/packages.test.ts',
  'test/system/packaging/sbom.test.ts',
]

export function isProof(file: string): boolean {
  return PROOFS.some((path) => file.startsWith(path))
}

/** Throws an error if no file begins with a path of the table. */
export function requireProofs(files: readonly string[]): void {
  const unused = PROOFS.find((path) => !files.some((file) => file.startsWith(path)))
  if (unused !== undefined) throw new Error(`no test begins with ${unused}: change PROOFS`)
}
