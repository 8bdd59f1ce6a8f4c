/** R21: the clock of a replica steps by an hour. */
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { installed } from '../../../support/installed.ts'
import { sendAll } from '../calls.ts'
import { headers, startEdgeProcess } from '../edge-process.ts'
import type { Call } from '../load.ts'
import { effect, type FaultPromise, figure, NotRun, none, type RunContext } from '../promise.ts'
import { startNodeUpstream } from '../upstream.ts'

const TTL_MS = 1000
const STEPS = ['+0', '+3600', '+0', '-3600', '+0']
const HALF_HOUR_MS = 1_800_000

/** Returns the library of faketime, which changes the wall clock of a process but not its monotonic clock. */
async function faketimeLibrary(): Promise<string> {
  try {
    installed({ variable: 'FAKETIME', names: ['faketime'], package: 'faketime' })
  } catch (error) {
    throw new NotRun((error as Error).message)
  }
  for (const folder of await readdir('/usr/lib')) {
    const place = join('/usr/lib', folder, 'faketime')
    const files = await readdir(place).catch((): string[] => [])
    if (files.includes('libfaketimeMT.so.1')) return join(place, 'libfaketimeMT.so.1')
  }
  throw new NotRun('libfaketimeMT.so.1 is not in /usr/lib/*/faketime')
}

async function steppedReplica(context: RunContext) {
  const library = await faketimeLibrary()
  const folder = await mkdtemp(join(tmpdir(), 'manager-edge-clock-'))
  context.keep({ close: () => rm(folder, { recursive: true, force: true }) })
  const file = join(folder, 'offset')
  await writeFile(file, '+0')
  const env = {
    LD_PRELOAD: library,
    FAKETIME_TIMESTAMP_FILE: file,
    FAKETIME_NO_CACHE: '1',
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
  }
  const upstream = context.keep(await startNodeUpstream())
  const ttl = { agents: `${TTL_MS * (context.planted ? 10 : 1)}ms` }
  const settings = { cache: { ttl, staleWhileRevalidate: { agents: '0s' } } }
  const edge = context.keep(await startEdgeProcess({ nodes: upstream.nodes, settings, env }))
  return { upstream, edge, step: (offset: string) => writeFile(file, offset) }
}

export const clockPromises: readonly FaultPromise[] = [
  {
    id: 'R21',
    title: 'The clock of a replica steps by an hour: no stored response outlives its TTL',
    planted: 'the TTL is ten times as long',
    async run(context) {
      const { upstream, edge, step } = await steppedReplica(context)
      /** When the register got a value beyond the index. */
      const replacedAt: number[] = []
      const put: Call = { origin: upstream.url, path: '/agents/001/group/web', method: 'PUT' }
      const get: Call = { origin: edge.url, path: '/agents/001', headers }
      const failures: string[] = []
      let [oldest, hits, furthest] = [0, 0, 0]
      for (const offset of STEPS) {
        await step(offset)
        for (const until = performance.now() + context.duration(10_000, 2500); performance.now() < until; ) {
          await sendAll([put], 1)
          replacedAt.push(performance.now())
          const [sample] = await sendAll([get], 1)
          if (sample?.failure !== undefined) failures.push(sample.failure)
          const value = Number(/"value":(\d+)/.exec(sample?.reply?.text ?? '')?.[1])
          const replaced = replacedAt[value]
          if (replaced !== undefined && sample !== undefined) oldest = Math.max(oldest, sample.begin - replaced)
          if (sample?.hit) hits += 1
          const shift = Math.abs(Date.parse(String(sample?.reply?.headers.date)) - Date.now())
          if (shift > HALF_HOUR_MS) furthest = Math.max(furthest, shift)
          await new Promise((resolve) => setTimeout(resolve, 50))
        }
      }
      return [
        effect('step of the Date header', `${Math.round(furthest / 1000)} s`, furthest > HALF_HOUR_MS),
        none(`failures of ${replacedAt.length} reads`, failures),
        figure('cache hits', hits, '> 10', hits > 10),
        context.within('age of the oldest value', oldest, TTL_MS + 100),
      ]
    },
  },
]
