/**
 * Each fault on each kind of node, for each family of joined endpoints: the response is complete or names the failed node
 * with the right error type, it is in time, and a partial response is not stored.
 */
import t, { type Test } from 'tap'
import { DEADLINE, faults, type InjectedFault, type Reply, startFaultMatrix } from './fault-matrix.ts'

const ROWS = 'GET /experimental/syscollector/netaddr?limit=1000'
const OBJECTS = 'GET /cluster/*/info'
const LOGS = 'GET /cluster/*/logs?limit=50'
const GROUP = 'PUT /agents/groups/default/restart'
const names = ['master', 'worker-1', 'worker-2']
type Row = Readonly<Record<string, string>>

/** Two at once: many wait for the timeout of a node. */
t.jobs = 2
for (const fault of faults) {
  for (const node of ['master', 'worker-1']) {
    t.test(`${fault.name} on ${node}`, { buffered: true }, async (t) => {
      const { simulator, ask, inject, recover } = await startFaultMatrix(t)
      const ownerOf = (id: string | undefined) => simulator.world.agents.get(id ?? '')?.node
      const agent = [...simulator.world.agents.keys()].find((id) => id !== '000' && ownerOf(id) === node)
      const OWN = `GET /syscollector/${agent}/packages?limit=3`
      // Fills the owner table, as in an edge that has been running.
      await ask('GET /syscollector/001/hardware')
      await inject(node, fault)
      const [rows, objects, logs, own, group] = await Promise.all([ROWS, OBJECTS, LOGS, OWN, GROUP].map(ask))
      for (const [family, reply] of Object.entries({ rows, objects, logs })) labelled(t, family, reply, { node, fault })
      t.ok(own && own.body.error !== 0, 'a read of an agent of that node is an error, never an empty result')
      inTime(t, own)
      inTime(t, group)
      groupWrite(t, group, { node, fault, ownerOf })
      await recover(node)
      const [whole, again, more] = await Promise.all([ROWS, OBJECTS, LOGS].map(ask))
      for (const reply of [whole, again, more]) {
        t.equal(reply?.body.data?.failed_nodes, undefined, 'the next call is complete')
        t.same([...(reply?.nodeStatus.keys() ?? [])], names)
      }
      const of = (row: Row) => row.node_name ?? ownerOf(row.agent_id)
      const others = (all: Row[]) => all.filter((row) => of(row) !== node)
      t.same(rows?.body.data?.items, others(whole?.body.data.items), 'all rows of the other nodes, in order')
      t.ok(whole?.body.data.items.length > rows?.body.data?.items.length)
      t.same(objects?.body.data?.items, others(again?.body.data.items))
    })
  }
}

function labelled(
  t: Test,
  family: string,
  reply: Reply | undefined,
  { node, fault }: { node: string; fault: InjectedFault },
): void {
  t.match(reply, { status: 200, body: { error: 0, data: { failed_nodes: [{ node }] } } }, family)
  t.equal(reply?.body.data?.failed_nodes.length, 1)
  t.match(reply?.nodeStatus.get(node), fault.expectedStatus, `${family}: the error type`)
  for (const name of names.filter((other) => other !== node)) {
    t.match(reply?.nodeStatus.get(name), /;rows=[1-9]\d*$/, `${family}: ${name} has rows`)
    t.notMatch(reply?.nodeStatus.get(name), /;error=/)
  }
  t.notMatch(reply?.cache, /;stored/, `${family}: not stored`)
  inTime(t, reply)
}

/** The members of a group come from the master; members of a failed worker are in `failed_ids`. */
function groupWrite(
  t: Test,
  reply: Reply | undefined,
  { node, fault, ownerOf }: { node: string; fault: InjectedFault; ownerOf: (id: string) => string | undefined },
): void {
  if (node === 'master') {
    t.ok(reply && reply.body.error !== 0, 'the members are unknown')
    return
  }
  const { affected_agents = [], failed_ids = [] } = reply?.body.data ?? {}
  t.match(reply?.body.data?.msg, /^Some/)
  t.notOk(affected_agents.some((id: string) => ownerOf(id) === node))
  const failed = failed_ids.filter(({ id }: { id: string }) => ownerOf(id) === node)
  t.ok(failed.length > 0)
  // The write is sent after the reads; by then the node may be ejected.
  const status = reply?.nodeStatus.get(node) ?? ''
  t.ok(fault.expectedStatus.test(status) || status.endsWith(';error=destination_unavailable'), status)
}

/** A response has one deadline for all nodes; the factor allows for a slow machine. */
function inTime(t: Test, reply: Reply | undefined): void {
  t.ok(reply && reply.milliseconds < 3 * DEADLINE, `${reply?.milliseconds} ms`)
}
