/** A person reads through a node that walkers keep busy, with the same account from the same address. */
import { Agent, request, type ServerResponse } from 'node:http'
import t, { type Test } from 'tap'
import { startEdge } from '../../support/edge.ts'
import { eventually } from '../../support/eventually.ts'
import { samplesOf, sumOf } from '../../support/scrape.ts'
import { envelope, fakeNode } from '../../unit/upstream/fake-node.ts'

const LISTS = ['/agents', '/rules', '/decoders', '/rules/groups', '/rules/pci']
const PERSON = '/manager/info'

/** The turns of the walkers that a flow may wait, if the pages take the same time of the node. */
const TURNS = 6
const MAX_ROUNDS = 5

t.test('the read of a person goes before the pages of walkers, which each get their turn', async (t) => {
  let turns = await playRound(t)
  // Flows share the time of the node. A page during which the machine paused is worth many turns: that round shows nothing.
  for (let round = 1; round < MAX_ROUNDS && turns.longestMs > TURNS * turns.averageMs; round += 1)
    turns = await playRound(t)
  for (const list of LISTS)
    t.ok(turns.paths.filter((path) => path === list).length >= 1, `${list} in ${turns.paths.join(' ')}`)
})

/** Returns the calls after that of the person, and how long the node had the calls of the round. */
async function playRound(t: Test) {
  const waiting: ServerResponse[] = []
  const calls: string[] = []
  const times: number[] = []
  let calledAt = 0
  const node = await fakeNode(t, (incoming, response) => {
    const path = incoming.url?.replace(/\?.*/, '') ?? ''
    // The edge makes calls by itself.
    if (path !== PERSON && !LISTS.includes(path)) return envelope(incoming, response)
    calls.push(path)
    calledAt = performance.now()
    waiting.push(response)
  })
  const edge = await startEdge({
    nodes: [{ name: 'master', type: 'master', url: node.url }],
    password: 'only-for-tests',
    settings: {
      cache: { enabled: false },
      cluster: { discover: false, limits: { inFlight: 1 } },
      operations: { metrics: 'open' },
    },
  })
  t.teardown(() => edge.close())
  const queued = async () =>
    sumOf(samplesOf(await (await fetch(`${edge.operationsUrl}/metrics`)).text()), 'edge_node_queue')
  /** Answers the call that the node has, once these clients have a call queued or on the node. */
  const answerOne = async (clients: number) => {
    await eventually(async () => waiting.length === 1 && (await queued()) === clients - 1)
    const response = waiting.shift()
    times.push(performance.now() - calledAt)
    if (response) envelope(response.req, response)
  }
  /** Returns what sends requests of one client, which has one connection. */
  const client = () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    t.teardown(() => agent.destroy())
    return (path: string) =>
      new Promise<void>((resolve, reject) => {
        const headers = { authorization: edge.authorization('admin') }
        request(`${edge.url}${path}`, { agent, headers }, (response) => response.resume().once('end', () => resolve()))
          .once('error', reject)
          .end()
      })
  }
  let isOver = false
  const walk = async (list: string) => {
    const read = client()
    for (let offset = 0; !isOver; offset += 20) await read(`${list}?limit=20&offset=${offset}`)
  }
  const walks = Promise.all(LISTS.map(walk))
  for (let done = 0; done < 2 * LISTS.length; done += 1) await answerOne(LISTS.length)

  await eventually(() => waiting.length === 1)
  const before = calls.length
  const person = client()(PERSON)
  await answerOne(LISTS.length + 1)
  await eventually(() => calls.length === before + 1)
  t.equal(calls.at(-1), PERSON)

  for (let done = 0; done < TURNS * LISTS.length; done += 1) await answerOne(LISTS.length + (done === 0 ? 1 : 0))
  await person
  const paths = calls.slice(before + 1)
  isOver = true
  const ends = setInterval(() => {
    for (const response of waiting.splice(0)) envelope(response.req, response)
  }, 5)
  await walks
  clearInterval(ends)
  const averageMs = times.reduce((sum, ms) => sum + ms, 0) / times.length
  return { paths, averageMs, longestMs: Math.max(...times) }
}
