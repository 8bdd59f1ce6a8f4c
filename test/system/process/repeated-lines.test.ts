import t from 'tap'
import { eventually } from '../../support/eventually.ts'
import { startRedis } from '../../support/redis.ts'
import { simulated } from '../../support/simulated.ts'

interface Line {
  readonly level: string
  /** Milliseconds since 1970. */
  readonly time: number
  readonly msg: string
  readonly event?: string
  readonly node?: string
  readonly route?: string
  readonly repeated?: number
}

function linesOf(logged: readonly string[]): Line[] {
  return logged.map((text) => {
    const line = JSON.parse(text)
    return { ...line, time: Date.parse(line.time) }
  })
}

/** The greatest number of lines of one kind within one second, over all windows that begin with a line. */
function mostPerSecond(lines: readonly Line[]): number {
  return Math.max(
    0,
    ...lines.map(({ time }) => lines.filter((each) => each.time >= time && each.time < time + 1000).length),
  )
}

t.test('an outage that fails hundreds of requests has at most two lines per second and kind in the log', async (t) => {
  const settings = { cache: { enabled: false }, access: { limits: { requestsPerSecond: 10_000 } } }
  const { simulator, edge } = await simulated(t, { workers: 1, agents: 3 }, { settings })
  for (const { name } of simulator.nodes) await simulator.faults.set(name, { apiDown: true })
  const headers = { authorization: edge.authorization('admin') }
  const codes = new Map<number, number>()
  for (let round = 0; round < 15; round += 1) {
    await Promise.all(
      Array.from({ length: 20 }, async () => {
        const response = await fetch(`${edge.url}/rules?limit=1`, { headers })
        const { error } = (await response.json()) as { error: number }
        codes.set(error, (codes.get(error) ?? 0) + 1)
      }),
    )
  }
  await edge.edge.drain(0)
  const lines = linesOf(edge.logged)
  const warnings = lines.filter(({ level }) => level === 'warn' || level === 'error')
  // Two nodes that are ejected are two kinds.
  const kindOf = ({ msg, node = '' }: Line) => `${msg} ${node}`
  for (const kind of new Set(warnings.map(kindOf))) {
    // The first line of a kind is written at once, the number of the others at the end of the second.
    t.ok(mostPerSecond(warnings.filter((line) => kindOf(line) === kind)) <= 2, kind)
  }
  const failures = warnings.filter(
    ({ msg }) => /node/i.test(msg) && msg !== 'node ejected' && msg !== 'nodes not discovered',
  )
  const counted = failures.reduce((sum, { repeated = 1 }) => sum + repeated, 0)
  t.ok(counted >= 300, `${counted} of 300 failed requests are in the numbers; ${JSON.stringify([...codes])}`)
  t.equal(
    lines.filter(({ level, route }) => level === 'info' && route === '/rules').length,
    300,
    'each request still has its own line',
  )
})

t.test('a Redis that does not respond has at most two lines per second and event', async (t) => {
  const redis = await startRedis()
  t.teardown(() => redis.close())
  const settings = { cache: { redis: { url: redis.url } } }
  const { edge } = await simulated(t, { workers: 1, agents: 3 }, { settings })
  const headers = { authorization: edge.authorization('admin') }
  const get = async () => (await fetch(`${edge.url}/agents?search=${Math.random()}`, { headers })).arrayBuffer()
  await get()
  const lines = (): Line[] => linesOf(edge.logged).filter(({ msg }) => msg === 'cache store')
  redis.pause()
  t.teardown(() => redis.resume())
  await Promise.all(Array.from({ length: 200 }, get))
  await eventually(() => lines().some(({ event }) => event === 'unreachable'))
  redis.resume()
  await eventually(() => lines().some(({ event }) => event === 'reachable'))
  for (const event of new Set(lines().map((line) => line.event))) {
    t.ok(mostPerSecond(lines().filter((line) => line.event === event)) <= 2, String(event))
  }
})
