import { existsSync, writeFileSync } from 'node:fs'
import { rename } from 'node:fs/promises'
import { join } from 'node:path'
import { hash } from '@node-rs/bcrypt'
import t from 'tap'
import { stringify } from 'yaml'
import { startSimulator } from '../../../packages/simulator/src/index.ts'
import { verifyAudit } from '../../../src/audit/verify.ts'
import { program, result } from './program.ts'

t.test(
  'SIGHUP reloads and reopens the audit file, the chain continues over restarts, and "audit verify" accepts it',
  async (t) => {
    const account = { username: 'edge', password: 'only-for-tests' }
    const simulator = await startSimulator({ workers: 1, agents: 3, ...account })
    t.teardown(() => simulator.close())
    const folder = t.testdir({ users: `admin:${await hash('admin-pw', 4)}\n` })
    const settings = join(folder, 'edge.yaml')
    writeFileSync(
      settings,
      stringify({
        listen: { port: 0, drain: { delay: '0s', limit: '10s' } },
        operations: { port: 0 },
        cluster: { nodes: simulator.nodes.map(({ name, type, url }) => ({ name, type, url })), credentials: account },
        access: { users: 'users', roles: { admin: ['administrator'] } },
        audit: { file: 'audit.jsonl' },
      }),
    )
    const file = join(folder, 'audit.jsonl')
    const run = async (during: (url: string, edge: ReturnType<typeof program>) => Promise<void>) => {
      const edge = program(t, ['start', '--config', settings])
      const url = (await edge.until(/"operationsUrl":"[^"]+","url":"([^"]+)"/))[1] ?? ''
      await during(url, edge)
      edge.child.kill('SIGTERM')
      t.equal((await edge.ended).code, 0)
    }
    const write = async (url: string) => {
      const headers = { authorization: `Basic ${btoa('admin:admin-pw')}` }
      t.equal((await fetch(`${url}/agents/groups/g`, { method: 'PUT', headers })).status, 200)
    }
    await run(async (url, edge) => {
      await write(url)
      await rename(file, `${file}.1`)
      edge.child.kill('SIGHUP')
      await edge.until(/audit reopened/)
      await edge.until(/configuration unchanged/)
      t.ok(existsSync(file))
      await write(url)
    })
    await run(write)
    const { faults, notes, records } = await verifyAudit([`${file}.1`, file])
    t.strictSame([faults, notes], [[], []])
    t.equal(records, 12, 'three times opened, three writes of two lines, three times closed')
    const { code, out } = await result(t, ['audit', 'verify', `${file}.1`, file])
    t.equal(code, 0)
    t.match(out, /^12 records, the last is 12 with digest [0-9a-f]{64}\nok\n$/)
  },
)
