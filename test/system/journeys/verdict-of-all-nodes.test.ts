import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { Fault } from '../../../packages/simulator/src/faults.ts'
import { eventually } from '../../support/eventually.ts'
import { simulated } from '../../support/simulated.ts'
import { together } from '../../support/together.ts'
import { ask } from './edge-mode.ts'

const test = together(t, 3)

const VERDICT = 'GET /cluster/configuration/validation'
const TTL_MS = 20

async function cluster(t: Test, distribution: 'manager' | 'edge') {
  return simulated(
    t,
    { workers: 2, agents: 6, distributed: distribution === 'manager' },
    {
      settings: {
        cluster: { distribution, discover: false, limits: { timeout: '1s', slowTimeout: '1s' } },
        cache: {
          ttl: { validation: `${TTL_MS}ms` },
          // Mode `manager` has the default `staleIfError` alone.
          ...(distribution === 'edge' && { staleWhileRevalidate: { validation: '60s' } }),
        },
      },
    },
  )
}

/** In mode `manager` other nodes may be asked in place of an API that is down, so only faults of the whole node count. */
const ofNode: Readonly<Record<string, Fault>> = {
  'is not ready': { error: 1017 },
  'is down': { nodeDown: true },
  hangs: { delay: 3000 },
}
const faults = { manager: ofNode, edge: { ...ofNode, resets: { reset: true }, stalls: { stall: true } } } as const

for (const distribution of ['manager', 'edge'] as const) {
  for (const [name, fault] of Object.entries(faults[distribution])) {
    test(`${distribution}: there is no verdict of the cluster while a node ${name}, and the node is named`, async (t) => {
      const { edge, simulator } = await cluster(t, distribution)
      // On busy cores the first calls may last longer than their short timeout.
      await eventually(async () => (await ask(edge, VERDICT)).body.error === 0)
      await simulator.faults.set('worker-1', fault)
      // The verdict and its parts are no longer fresh, and neither stale time may be used.
      await sleep(2 * TTL_MS)
      for (let attempt = 0; attempt < 3; attempt += 1) {
        const { body } = await ask(edge, VERDICT)
        t.notMatch(body, { error: 0 }, `attempt ${attempt}: ${JSON.stringify(body)}`)
        t.match(body.message, /worker-1/)
        await sleep(2 * TTL_MS)
      }
      await simulator.faults.clear()
      // The edge may not call a node for a while after failures.
      let last = await ask(edge, VERDICT)
      await eventually(async () => {
        last = await ask(edge, VERDICT)
        return last.body.error === 0
      })
      t.match(last.body, { error: 0, data: { status: 'OK' } }, 'the node is back')
    })
  }
}

test('several nodes: the verdict of a node that cannot be asked is missing, and the node is named', async (t) => {
  const { edge, simulator } = await cluster(t, 'edge')
  const ofNodes = 'GET /cluster/*/configuration/validation'
  await eventually(async () => (await ask(edge, ofNodes)).body.data?.totalItems === 3)
  await simulator.faults.set('worker-1', { error: 1017 })
  await sleep(2 * TTL_MS)
  const { body } = await ask(edge, ofNodes)
  t.match(body.data, { totalItems: 2, failed_nodes: [{ node: 'worker-1', error: { code: 1017 } }] })
})
