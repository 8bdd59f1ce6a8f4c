/** Builds of snapshots whose rows Redis did not take. */
import t from 'tap'
import { eventually } from '../../../support/eventually.ts'
import { startRedis } from '../../../support/redis.ts'
import { replica, steady } from '../stores/replicas.ts'
import { agents, snapshotReplica } from './collection-node.ts'

const minute = { ttl: 60_000, staleWhileRevalidate: 60_000, staleIfError: 60_000 }

for (const [what, lose, isBuiltAgain] of [
  ['was lost while they were stored', 'kill', true],
  ['refuses them', 'refuse', false],
] as const)
  t.test(
    `if Redis ${what}, the snapshot is ${isBuiltAgain ? 'built as soon as it is back' : 'not built at once'}`,
    async (t) => {
      const redis = await startRedis()
      t.teardown(() => redis.close())
      const { store } = await replica(t, redis, { times: steady })
      const setKeys = (rule: string) => redis.client().call('ACL', 'SETUSER', 'default', 'resetkeys', rule)
      const built: string[] = []
      const edge = snapshotReplica(agents(2500), {
        store,
        clock: () => performance.now(),
        lifetimesOf: () => minute,
        onEvent: (event) => {
          if (event.kind === 'snapshotBuild') built.push(event.outcome)
        },
      })
      const { respond } = edge.nodes
      edge.nodes.respond = async (request, call) => {
        if (request.query.offset === '2000') {
          if (lose === 'kill') await redis.kill()
          else await setKeys('~edge:[^p]*')
          edge.nodes.respond = respond
        }
        return respond(request, call)
      }
      /** Queries until a build has ended. */
      let limit = 0
      const ask = () => {
        limit += 1
        return edge.get({ limit: `${limit}` })
      }
      const build = async () => {
        const { length } = built
        await eventually(async () => {
          await ask()
          return built.length > length
        })
      }
      await build()
      t.strictSame(built, [isBuiltAgain ? 'redisLost' : 'notStored'])
      if (lose === 'kill') await redis.restart()
      else await setKeys('allkeys')
      if (isBuiltAgain) await build()
      else for (let at = 0; at < 5; at += 1) await ask()
      t.equal(built.at(-1), isBuiltAgain ? 'built' : 'notStored')
      t.equal(built.length, isBuiltAgain ? 2 : 1)
    },
  )
