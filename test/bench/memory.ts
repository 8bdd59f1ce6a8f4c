/**
 * Measures memory (`npm run bench:memory`): of a whole replica with the default settings, also while the console lists
 * and searches 100,000 stored responses, and of the local tier alone, filled by its own fetches and from Redis. Prints
 * figures and limits; exits with 1 if a limit is exceeded or a measurement does not contain what it counts.
 */
import { startRedis } from '../support/redis.ts'
import { readOptions } from '../support/script-options.ts'
import { LOCAL_BYTES, measureReplica, ROWS } from './memory-console.ts'
import { MiB, residentBytes } from './memory-formula.ts'
import { ENTRIES, ENTRY_BYTES, measureTier } from './memory-tier.ts'

/** The goal: a factor of the bytes and a constant. */
const MAX_TIER_BYTES = 1.5 * ENTRIES * ENTRY_BYTES + 120e6

const { values } = readOptions({
  name: 'bench:memory',
  purpose: 'Measures the memory of a replica and of its local tier, and compares it with the limits.',
  options: { replica: { kind: 'flag', meaning: 'measure only the whole replica' } },
})

const inMiB = (bytes: number): string => `${(bytes / MiB).toFixed(0)} MiB`

async function measureWholeReplica(): Promise<boolean> {
  console.log(`a replica with the default settings and ${ROWS} stored responses: resident memory now, and its maximum`)
  const measured = await measureReplica(({ step, resident, peak }) => {
    console.log(`  ${step}: ${inMiB(resident)}, ${inMiB(peak)}`)
  })
  const limit = residentBytes({ localBytes: LOCAL_BYTES, snapshotBytes: 0, rows: ROWS })
  const peak = Math.max(...measured.map((each) => each.peak))
  console.log(`  ${peak <= limit ? 'reached' : 'missed'} (≤ ${inMiB(limit)} by the formula)`)
  return peak <= limit
}

async function measureLocalTier(): Promise<boolean> {
  const redis = await startRedis()
  let isReached = true
  try {
    console.log(`${ENTRIES} entries of ${ENTRY_BYTES} B in the local tier: ${inMiB(ENTRIES * ENTRY_BYTES)} of bodies`)
    for (const filling of ['filled here', 'read from Redis'] as const) {
      const { resident, used, localEntries } = await measureTier(filling, redis.url)
      // A timeout on a busy machine may omit a few entries.
      const isComplete = localEntries >= 0.99 * ENTRIES
      const fits = resident <= MAX_TIER_BYTES ? 'reached' : 'missed'
      const verdict = isComplete ? fits : `only ${localEntries} are in the local tier`
      isReached = isReached && verdict === 'reached'
      const limit = `≤ ${inMiB(MAX_TIER_BYTES)}`
      console.log(`  ${filling}: ${inMiB(resident)} resident, ${inMiB(used)} in use · ${verdict} (${limit})`)
    }
  } finally {
    await redis.close()
  }
  return isReached
}

const isReplicaReached = await measureWholeReplica()
const isTierReached = values.replica || (await measureLocalTier())
process.exitCode = isReplicaReached && isTierReached ? 0 : 1
