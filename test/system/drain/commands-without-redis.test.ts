/** What the commands that change a running edge report if it cannot do it: cause, remedy, and an exit code other than 0. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { startSimulator } from '../../../packages/simulator/src/index.ts'
import { drain, purge } from '../../../packages/tools/src/commands/edge-changes.ts'
import { CommandError } from '../../../src/cli/terminal.ts'
import { startEdge } from '../../support/edge.ts'
import { eventually } from '../../support/eventually.ts'
import { startRedis } from '../../support/redis.ts'

const account = { username: 'edge', password: 'only-for-tests' }
const simulator = await startSimulator({ workers: 1, agents: 3, ...account })
t.teardown(() => simulator.close())
const redis = await startRedis()
t.teardown(() => redis.close())
const edge = await startEdge({ nodes: simulator.nodes, settings: { cache: { redis: { url: redis.url } } } })
t.teardown(() => edge.close())
const passwordFile = join(edge.folder, 'password')
writeFileSync(passwordFile, 'admin-pw')
const options = { operations: edge.operationsUrl, user: 'admin', passwordFile, json: true } as const

async function failureOf(work: Promise<void>): Promise<CommandError> {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (error instanceof CommandError) return error
  throw new Error(`no CommandError: ${error}`)
}

t.test('a purge of a misspelled group is refused, with the name that was probably meant', async (t) => {
  const { message, exitCode } = await failureOf(purge({ ...options, group: 'agent' }))
  t.match(message, /there is no cache group agent; there are .*; did you mean "agents"\?/i)
  t.equal(exitCode, 1)
})

t.test('without Redis, purge and drain name cause and remedy', async (t) => {
  await redis.kill()
  const isUnreachable = async () =>
    (await (await fetch(`${edge.operationsUrl}/readyz?verbose`)).text()).includes('redisUnreachable')
  await eventually(isUnreachable)
  const worker = simulator.nodes.find(({ type }) => type === 'worker')?.name ?? ''
  for (const [name, work] of Object.entries({
    purge: () => purge({ ...options, group: 'agents' }),
    drain: () => drain(worker, { ...options, waitTimeout: 1 }),
  })) {
    const { message, exitCode } = await failureOf(work())
    t.match(message, /Redis|Drained nodes cannot be changed/, `${name}: cause: ${message}`)
    t.match(message, /; check the connection to Redis/, `${name}: remedy`)
    t.not(exitCode, 0, name)
  }
})
