/** Settings of the records that the edge makes: log, audit, traces. */
import { mkdir, readdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { type Collector, startCollector } from '../../../unit/telemetry/traces/collector.ts'
import { answerTo, OK, type Proof, type StartOptions, unique } from '../proof.ts'

const write = answerTo('PUT', '/agents/groups/default/restart')

let collector: Collector
const startTraced =
  (traces: object) =>
  async (t: Test): Promise<StartOptions> => {
    collector = await startCollector(t)
    return { settings: { traces: { endpoint: collector.url, ...traces } } }
  }

/** Observes whether the collector receives spans of ten requests. */
const isTraced: Proof['observe'] = async ({ get, edge }) => {
  for (let count = 0; count < 10; count += 1) await (await get(`/agents?search=${unique()}`)).arrayBuffer()
  await edge.edge.drain()
  return collector.spans.length > 0
}

/** A busy machine writes the line of a request later than its response. */
const LINE_MS = 1_000

export const proofs: readonly Proof[] = [
  {
    changes: { 'log.level': 'error' },
    before: true,
    after: false,
    observe: async ({ get, lines }) => {
      const from = lines().length
      await (await get(`/agents?search=${unique()}`)).arrayBuffer()
      await (await get('/agents?limit=1')).arrayBuffer()
      await (await get('/agents?limit=1')).arrayBuffer()
      for (let waited = 0; waited < LINE_MS && lines().length === from; waited += 50) await sleep(50)
      return lines().length > from
    },
  },
  {
    start: { settings: { audit: { file: 'audit.log' } } },
    changes: { 'audit.onFailure': 'log' },
    before: [503, 936],
    after: OK,
    isFinal: true,
    observe: async (edge) => {
      const file = join(edge.edge.folder, 'audit.log')
      await rename(file, `${file}.moved`)
      await mkdir(file)
      return write(edge)
    },
  },
  {
    // A device cannot be flushed to a disk, so that a record is not written if it must be.
    start: { settings: { audit: { file: '/dev/null', sync: false } } },
    changes: { 'audit.sync': true },
    before: OK,
    after: [503, 936],
    observe: write,
  },
  {
    start: { settings: { audit: { file: 'audit.log' } } },
    changes: { 'audit.rotateAt': '1KiB' },
    before: false,
    after: true,
    observe: async (edge) => {
      for (let count = 0; count < 5; count += 1) await write(edge)
      return (await readdir(edge.edge.folder)).some((name) => /^audit\.log\.\d/.test(name))
    },
  },
  {
    start: startTraced({ sampleRatio: 0, maxPerSecond: 1000 }),
    changes: { 'traces.sampleRatio': 1 },
    before: false,
    after: true,
    isFinal: true,
    observe: isTraced,
  },
  {
    start: startTraced({ sampleRatio: 1, maxPerSecond: 0 }),
    changes: { 'traces.maxPerSecond': 1000 },
    before: false,
    after: true,
    isFinal: true,
    observe: isTraced,
  },
]
