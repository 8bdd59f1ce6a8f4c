/** Two instances of the systemd template on one machine, behind HAProxy with the shipped file. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { freePort } from '../../../packages/simulator/src/free-port.ts'
import { startHaproxy } from '../../faults/suite/haproxy.ts'
import { startClients } from '../../faults/suite/load.ts'
import { startRedis } from '../../support/redis.ts'
import { environmentOfInstance } from '../../support/systemd.ts'
import { configFolder } from '../process/config.ts'
import { program } from '../process/program.ts'

const headers = { authorization: `Basic ${btoa('alice:pw-of-alice')}` }

t.test('instances of one configuration are restarted one after the other without a lost request', async (t) => {
  const { file, folder, write, createKey } = await configFolder(t)
  await createKey()
  const redis = await startRedis()
  t.teardown(() => redis.close())
  // Longer than the two checks after which HAProxy takes a replica out.
  write({}, { listen: { drain: { delay: '3s' } }, cache: { redis: { url: redis.url } } })
  const start = async (instance: string) => {
    const running = program(t, ['start', '--config', file], { env: environmentOfInstance(instance, folder) })
    await running.until(new RegExp(`"replica":"[^"]+-${instance}"`))
    return running
  }
  const startInstance = async (instance: string) => {
    const [port, operationsPort] = [await freePort(), await freePort()]
    const lines = [`EDGE_LISTEN_PORT=${port}`, `EDGE_OPERATIONS_PORT=${operationsPort}`]
    writeFileSync(join(folder, `${instance}.env`), `${lines.join('\n')}\n`)
    return { instance, port, operationsPort, running: await start(instance) }
  }
  const instances = await Promise.all(['1', '2'].map(startInstance))
  const balancer = await startHaproxy(instances)
  t.teardown(() => balancer.close())

  let sent = 0
  const draw = () => ({ origin: balancer.url, path: `/agents?limit=1&offset=${++sent % 50}`, headers })
  const load = startClients({ clients: 20, rate: 60, origin: balancer.url, draw })
  load.phase('roll')
  for (const { instance, running } of instances) {
    await balancer.replicasUp(2)
    running.child.kill('SIGTERM')
    t.equal((await running.ended).code, 0)
    await start(instance)
  }
  const { roll } = await load.stop()
  t.strictSame(roll?.failures, [], `of ${roll?.requests} requests`)
  t.ok(sent > 100, `${sent} requests`)
})
