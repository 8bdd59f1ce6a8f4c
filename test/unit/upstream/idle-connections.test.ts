/** Idle connections to nodes: the edge closes them before the node does, which release 5.0 does after five seconds. */
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { eventually } from '../../support/eventually.ts'
import { forkScript } from '../../support/typescript/script.ts'
import { clusterOf, get } from './fake-node.ts'
import type { Arrival } from './idle-closing-node.ts'

const NODE_IDLE_MS = 5000
/** A request that is sent later than this before the end of the connection may meet it. */
const MARGIN_MS = 1000
/** The nodes get probes too. */
const READ = '/agents?search='
const PAUSES_MS = [500, 1500, 2500, 2900, 3000, 3100, 3500, 4000, 4500, 4900, 4990, 5000, 5010, 5100, 5500]

async function startNode(t: Test, { announces }: { readonly announces: boolean }) {
  const child = forkScript(new URL('idle-closing-node.ts', import.meta.url), announces ? ['announced'] : [])
  const ended = once(child, 'exit')
  t.teardown(async () => {
    child.kill('SIGKILL')
    await ended
  })
  const [port] = await once(child, 'message')
  const arrivals: Arrival[] = []
  child.on('message', (arrival: Arrival) => arrivals.push(arrival))
  const name = announces ? 'a node that announces its limit' : 'a node that announces none'
  return { name, url: `http://127.0.0.1:${port}`, arrivals }
}

/** Sends two reads with a pause between them, over connections that no other reads use. */
async function readTwice(t: Test, url: string, pause: number): Promise<void> {
  const cluster = clusterOf(t, url)
  for (const turn of ['first', 'second']) {
    if (turn === 'second') await sleep(pause)
    t.match(await cluster.call(get(`${READ}${turn}-${pause}`)), { ok: true }, `${turn} read, pause of ${pause} ms`)
  }
}

t.test(
  'a read goes over a connection that was idle for a while, and over none that the node is about to close',
  async (t) => {
    const nodes = await Promise.all([startNode(t, { announces: false }), startNode(t, { announces: true })])
    await Promise.all(nodes.flatMap(({ url }) => PAUSES_MS.map((pause) => readTwice(t, url, pause))))
    for (const { name, arrivals } of nodes) {
      const reads = () => arrivals.filter(({ path }) => path.startsWith(READ))
      await eventually(() => reads().length >= 2 * PAUSES_MS.length)
      const reused = arrivals.filter(({ idle }) => idle !== undefined)
      t.ok(reused.length > 0, `${name}: connections are used again`)
      const isLate = ({ idle = 0 }: Arrival) => idle > NODE_IDLE_MS - MARGIN_MS
      t.same(reused.filter(isLate), [], `${name}: none of them shortly before its end`)
      t.equal(new Set(reads().map(({ path }) => path)).size, reads().length, `${name}: no read was sent twice`)
    }
  },
)
