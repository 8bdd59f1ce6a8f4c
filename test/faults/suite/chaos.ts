/**
 * `npm run check:chaos`: draws faults at random under mixed load. The seed determines the plan. Ends with 1 after a
 * violation, after a write that reached a node although it was refused, or twice, with an availability below 99.95 %, and
 * if faults of links, an outage or a stalled Redis had no effect.
 */
import { readOptions } from '../../support/script-options.ts'
import { describeEffects, ineffective } from '../coherence/links.ts'
import { chaosFaults, longFaults, worstHourFaults } from './chaos-faults.ts'
import { drawPlan } from './chaos-plan.ts'
import { runChaos } from './chaos-run.ts'

const LEAST_AVAILABILITY = 0.9995
/** With fewer requests, one failure would decide. */
const LEAST_HITS = 100

const { values, refuse } = readOptions({
  name: 'check:chaos',
  purpose: `Draws faults at random under mixed load. Faults: ${Object.keys(chaosFaults).join(', ')}.`,
  options: {
    minutes: { kind: 'number', meaning: 'duration (default 10)' },
    seed: { kind: 'number', meaning: 'seed of the plan; the same seed repeats a run' },
    only: { kind: 'text', value: 'FAULT', meaning: 'draw this fault only' },
    contracts: {
      kind: 'text',
      value: 'v3|both',
      meaning: 'both: clients of both contracts, in front of the v4 layout (default v3)',
    },
    beside: { kind: 'build', meaning: 'upgrades replace another build by this one, and this one by that' },
    'without-redis': { kind: 'text', value: 'call|stale', meaning: 'the setting cache.withoutRedis (default stale)' },
  },
})
const { minutes = 10, seed = Date.now() % 1_000_000, only, contracts = 'v3' } = values
const names = Object.keys(chaosFaults).filter((name) => name === (only ?? name))
if (contracts !== 'v3' && contracts !== 'both') refuse(`--contracts needs v3 or both, got "${contracts}"`)
const mode = values['without-redis'] ?? 'stale'
if (mode !== 'call' && mode !== 'stale') refuse(`--without-redis needs call or stale, got "${mode}"`)
if (minutes === 0) refuse('--minutes must be more than 0')
if (!Number.isInteger(seed)) refuse('--seed must be a whole number')
if (names.length === 0) refuse(`there is no fault "${only}"`)

const plan = drawPlan(names, seed, minutes * 60_000, { factors: longFaults, always: worstHourFaults })
const planned = names.map((name) => ({ name, times: plan.filter((each) => each.name === name).length }))
console.log(`seed ${seed}, ${minutes} minutes, ${plan.length} faults`)
for (const { name, times } of planned) if (times === 0) console.log(`not in this plan, which is too short: ${name}`)
const report = await runChaos({
  plan,
  seed,
  contracts: contracts === 'both' ? 'both' : 'v3',
  withoutRedis: mode === 'call' ? 'call' : 'stale',
  beside: values.beside,
  onFault: ({ name, ms, target }, seconds) =>
    console.log(`${seconds.toFixed(1).padStart(7)} s  ${name}, ${ms} ms, target ${target}`),
})
const {
  operations,
  writes,
  hits,
  inOutage,
  withoutRedis,
  joinedReads,
  violations,
  wrongWrites,
  linkEffects,
  sheds,
  failures,
  availability,
} = report
for (const violation of violations.slice(0, 10)) console.log(JSON.stringify(violation))
for (const failure of failures.slice(0, 10)) console.log(failure)
console.log(`${operations} operations (${writes} writes, ${hits} hits), ${joinedReads} joined reads`)
console.log(`${inOutage} reads served in an outage, ${withoutRedis} without Redis, which alone may be old`)
console.log(`${violations.length} violations, ${failures.length} failures, ${sheds} announced sheds`)
for (const wrong of wrongWrites.slice(0, 10)) console.log(wrong)
console.log(`${wrongWrites.length} writes reached a node although they were refused, or twice`)
if (linkEffects.length > 0) console.log(describeEffects(linkEffects))
const has = (words: RegExp) => plan.some(({ name }) => words.test(name))
const withoutEffect = [
  ...ineffective(linkEffects, 'kind'),
  ...(inOutage === 0 && has(/^outage/) ? ['outage of minutes: no read was served in it'] : []),
  ...(mode === 'stale' && withoutRedis === 0 && has(/Redis stalled|without Redis/)
    ? ['no read was served without Redis']
    : []),
]
for (const name of withoutEffect) console.log(`no effect: ${name}`)
console.log(`availability outside announced sheds ${(100 * availability).toFixed(3)} % (limit 99.95 %)`)
const isCoherent = violations.length === 0 && wrongWrites.length === 0
const isGood = isCoherent && withoutEffect.length === 0 && availability >= LEAST_AVAILABILITY && hits >= LEAST_HITS
console.log(isGood ? 'pass' : 'FAIL')
process.exit(isGood ? 0 : 1)
