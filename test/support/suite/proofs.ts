/**
 * The part of the suite that `npm run test:proofs` runs, and `npm test` does not: it takes much time, and fails seldom.
 * Continuous integration runs both.
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
  // Sizes: time and memory with many entries, rows, users or URLs.
  'test/system/console/many-entries.test.ts',
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
  // Packages.
  'packages/clients/test/clients.test.ts',
  'test/system/packaging/image-run.test.ts',
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
