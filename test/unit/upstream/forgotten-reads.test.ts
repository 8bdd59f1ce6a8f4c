/** What is remembered of reads that get no response, while many other agents and endpoints are read. */
import t from 'tap'
import { startDeadline } from '../../../src/core/timing.ts'
import { AgentReads } from '../../../src/upstream/failure/agent-reads.ts'
import { StuckReads } from '../../../src/upstream/failure/stuck-reads.ts'
import { clusterSettings, get } from './fake-node.ts'

/** More agents and endpoints than are remembered. */
const MANY = 1_100
const settings = clusterSettings({})
const { timeout: TIMEOUT_MS = 0 } = get()

function watchReads() {
  const stuck: string[] = []
  const answered: string[] = []
  const reads = new StuckReads({
    ...settings,
    clock: () => 0,
    onStuck: (name) => stuck.push(name),
    onAnswer: (name) => answered.push(name),
  })
  const lose = (path: string) => {
    const call = get(path, { endpoint: 'GET /groups' })
    const admission = reads.admit(call)
    if (!admission.ok) return false
    const { probeOf } = admission
    reads.record({ ...call, ...(probeOf && { probeOf }) }, { isAnswered: false, isLate: true }, TIMEOUT_MS)
    probeOf?.endProbe(probeOf.probeStart)
    return true
  }
  return { reads, lose, stuck, answered }
}

t.test('the suspicion of an endpoint that is forgotten ends', async (t) => {
  const { reads, lose, stuck, answered } = watchReads()
  for (const path of ['/groups', '/groups?offset=1', '/groups?offset=2']) t.ok(lose(path))
  t.same(stuck, ['reads of GET /groups'])
  for (let at = 0; at < MANY; at += 1) reads.record(get(`/${at}`), { isAnswered: true, isLate: false }, 1)
  t.same(answered, stuck)
  t.ok(lose('/groups'))
})

t.test('beyond the limit, another subject of a lost read is no reason for a trial at once', async (t) => {
  const { lose, stuck } = watchReads()
  const sent = Array.from({ length: MANY }, (_, at) => lose(`/groups?offset=${at}`)).filter((isSent) => isSent).length
  t.same(stuck, ['reads of GET /groups'])
  t.equal(sent, 100)
})

t.test('a database with a read in flight is not forgotten', async (t) => {
  const reads = new AgentReads({ ...settings, silence: { lastResponse: 0 } })
  const begin = async (agent: string) => {
    const read = reads.open(agent)
    const deadline = startDeadline(TIMEOUT_MS, get().signal, settings.clock)
    t.equal(await read.enter(deadline, {}), undefined)
    t.ok(read.take())
    read.begin(0, () => undefined)
    return (hasResponse: boolean) => {
      read.end(hasResponse)
      deadline.end()
    }
  }
  const endFirst = await begin('005')
  for (let id = 0; id < MANY; id += 1) (await begin(`other ${id}`))(true)
  const second = begin('005')
  await new Promise(setImmediate)
  t.equal(reads.waiting, 1, 'the second one waits for the first')
  endFirst(true)
  const endSecond = await second
  endSecond(true)
  t.equal(reads.waiting, 0)
})
