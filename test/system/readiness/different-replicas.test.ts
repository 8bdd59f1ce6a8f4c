/** Replicas that were given different settings, users or keys say so: each of them would give clients another answer. */
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { startSimulator } from '../../../packages/simulator/src/index.ts'
import { type RunningEdge, type Settings, startEdge } from '../../support/edge.ts'
import { eventually } from '../../support/eventually.ts'
import { startRedis } from '../../support/redis.ts'
import { together } from '../../support/together.ts'

interface Shown {
  readonly degraded: readonly { readonly reason: string; readonly detail: string }[]
}

/** Both at once: each waits for what replicas report every few seconds. */
const test = together(t, 2)

test('different settings, users and keys of two replicas are a problem until they are alike', async (t) => {
  const [redis, simulator] = [await startRedis(), await startSimulator({ agents: 5, workers: 1 })]
  t.teardown(() => Promise.all([redis.close(), simulator.close()]))
  const start = async (name: string, settings: Settings): Promise<RunningEdge> => {
    const replica = { replica: { name }, cache: { redis: { url: redis.url }, ...(settings.cache as Settings) } }
    const edge = await startEdge({
      nodes: simulator.nodes,
      password: 'simulated',
      settings: { ...settings, ...replica },
      reloads: true,
    })
    t.teardown(() => edge.close())
    return edge
  }
  // What belongs to a machine differs: its name, its ports, the memory of its local tier.
  const first = await start('edge-1', {})
  const second = await start('edge-2', { cache: { localBytes: '8MiB' } })
  const differences = async ({ operationsUrl }: RunningEdge): Promise<Shown['degraded']> => {
    const { degraded } = (await (await fetch(`${operationsUrl}/readyz?verbose`)).json()) as Shown
    return degraded.filter(({ reason }) => reason === 'replicasDiffer')
  }
  const summaryOf = async ({ operationsUrl, authorization }: RunningEdge): Promise<string | undefined> => {
    const headers = { authorization: authorization('operator') }
    const { problems } = (await (await fetch(`${operationsUrl}/api/problems`, { headers })).json()) as {
      problems: readonly { readonly kind: string; readonly summary: string; readonly detail: string }[]
    }
    const problem = problems.find(({ kind }) => kind === 'replicasDiffer')
    return problem && `${problem.summary} ${problem.detail}`
  }

  const usersFile = join(second.folder, 'users')
  const keyFile = join(second.folder, 'keys', 'test.pem')
  const settingsFile = join(second.folder, 'edge.yaml')
  const [users, settings, key] = await Promise.all(
    [usersFile, settingsFile, keyFile].map((file) => readFile(file, 'utf8')),
  )
  await writeFile(usersFile, `${users?.split('\n').slice(0, 2).join('\n')}\n`)
  await writeFile(join(second.folder, 'keys', 'other.pem'), String(key))
  await writeFile(
    settingsFile,
    String(settings).replace('  reader:\n      - reader\n', '  reader:\n      - operator\n'),
  )
  t.not(await readFile(settingsFile, 'utf8'), settings, 'the roles were changed')
  for (const [edge, other] of [
    [first, 'edge-2'],
    [second, 'edge-1'],
  ] as const) {
    const all = /different settings or files: access\.roles, access\.users, access\.tokens\.keys /
    await eventually(async () => all.test((await summaryOf(edge)) ?? ''), 60_000)
    t.match(await summaryOf(edge), new RegExp(`from ${other} than`))
    t.match(await differences(edge), [{ reason: 'replicasDiffer', detail: '3 settings differ between replicas' }])
  }

  await writeFile(usersFile, String(users))
  await writeFile(settingsFile, String(settings))
  await rm(join(second.folder, 'keys', 'other.pem'))
  for (const edge of [first, second]) {
    await eventually(async () => (await differences(edge)).length === 0, 60_000)
    t.equal(await summaryOf(edge), undefined)
  }
})

test('another encryption key of stored responses is a problem', async (t) => {
  const [redis, simulator] = [await startRedis(), await startSimulator({ agents: 5, workers: 1 })]
  t.teardown(() => Promise.all([redis.close(), simulator.close()]))
  const folder = t.testdir({ one: '1'.repeat(40), two: '2'.repeat(40) })
  const edges = await Promise.all(
    ['one', 'two'].map(async (name) => {
      const file = join(folder, name)
      const settings = { cache: { redis: { url: redis.url }, encryptionKeyFile: file } }
      const edge = await startEdge({ nodes: simulator.nodes, password: 'simulated', settings })
      t.teardown(() => edge.close())
      return edge
    }),
  )
  for (const { operationsUrl } of edges) {
    await eventually(async () => {
      const { degraded } = (await (await fetch(`${operationsUrl}/readyz?verbose`)).json()) as Shown
      return degraded.some(
        ({ reason, detail }) => reason === 'replicasDiffer' && detail === '1 setting differs between replicas',
      )
    }, 60_000)
  }
  t.pass('both replicas say so')
})
