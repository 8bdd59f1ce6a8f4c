/** What the packages run after an upgrade, with programs in place of systemctl and deb-systemd-invoke. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'

const SCRIPT = 'packaging/restart-replicas.mjs'
const PAUSE_S = 0.2
const PATIENCE_S = 1

/** Sends its arguments to the test, and prints what the test returns. */
const FAKE = `#!/bin/sh
exec curl --silent --data-binary "$(printf '%s\\n' "\${0##*/}" "$@")" "$CONTROL"
`
const EDGE = `#!/bin/sh\nexec ${process.execPath} ${join(process.cwd(), 'dist/cli.js')} "$@"\n`

interface Instance {
  readonly name: string
  readonly isActive?: boolean
  /** Whether /readyz is 200 before the restart. */
  readonly isReady?: boolean
  /** Requests to /readyz that are 503 after the restart. */
  readonly failures?: number
  readonly configuration?: string
}

async function listen(t: Test, handle: RequestListener): Promise<number> {
  const server = createServer(handle)
  t.teardown(() => void server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return (server.address() as AddressInfo).port
}

/** Returns what happened, in its order, and the end of the script. */
async function restart(t: Test, command: string, instances: readonly Instance[]) {
  const configuration = [
    'cluster:',
    '  nodes: [{ name: master, type: master, url: "http://127.0.0.1:1" }]',
    '  credentials: { username: edge, password: only-for-tests }',
    'access: { users: users }',
  ].join('\n')
  const folder = t.testdir({
    systemctl: FAKE,
    'deb-systemd-invoke': FAKE,
    'manager-edge': EDGE,
    users: '',
    ...Object.fromEntries(instances.map(({ name, configuration: own }) => [`${name}.yaml`, own ?? configuration])),
    ...Object.fromEntries(instances.map(({ name }) => [`${name}.env`, ''])),
  })
  for (const name of ['systemctl', 'deb-systemd-invoke', 'manager-edge']) chmodSync(join(folder, name), 0o755)
  const events: { readonly what: string; readonly at: number }[] = []
  const note = (what: string) => void events.push({ what, at: performance.now() })
  const failures = new Map(instances.map(({ name, isReady = true }) => [name, isReady ? 0 : Number.POSITIVE_INFINITY]))
  const ports = new Map<string, number>()
  for (const { name } of instances) {
    const port = await listen(t, (_, response) => {
      const left = failures.get(name) ?? 0
      failures.set(name, left - 1)
      if (left <= 0) note(`ready ${name}`)
      response.writeHead(left > 0 ? 503 : 200).end()
    })
    ports.set(name, port)
    // The first port is in the unit, the others in files.
    if (name !== instances[0]?.name) writeFileSync(join(folder, `${name}.env`), `EDGE_OPERATIONS_PORT="${port}"\n`)
  }
  const respond = ([program = '', action = '', ...rest]: readonly string[]): string => {
    const unit = rest.at(-1) ?? ''
    const instance = instances.find(({ name }) => unit === `manager-edge@${name}.service`)
    if (action === 'list-units')
      return instances.map(({ name }) => `manager-edge@${name}.service loaded active running x\n`).join('')
    if (action === 'is-active') return instance === undefined || instance.isActive === false ? 'inactive\n' : 'active\n'
    if (action === 'try-restart') {
      note(`${program} restarts ${instance?.name}`)
      failures.set(instance?.name ?? '', instance?.failures ?? 0)
    }
    if (action !== 'show' || instance === undefined) return ''
    const { name } = instance
    const properties: Readonly<Record<string, string>> = {
      Environment: `EDGE_REPLICA_NAME=host-${name} EDGE_OPERATIONS_PORT=${ports.get(name)}`,
      EnvironmentFiles: `${join(folder, `${name}.env`)} (ignore_errors=yes)`,
      ExecStart: `{ path=/usr/bin/node ; argv[]=/usr/bin/node x start --config ${join(folder, `${name}.yaml`)} ; pid=1 }`,
    }
    return `${properties[/=(\w+)$/.exec(rest[0] ?? '')?.[1] ?? '']}\n`
  }
  const control = await listen(
    t,
    async (request, response) => void response.end(respond((await text(request)).trimEnd().split('\n'))),
  )
  const args = [SCRIPT, '--command', command, '--pause', `${PAUSE_S}`, '--patience', `${PATIENCE_S}`]
  const env = { ...process.env, PATH: `${folder}:${process.env.PATH}`, CONTROL: `http://127.0.0.1:${control}/` }
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'inherit', 'pipe'] })
  const [errors, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')])
  return { events, errors, code: code as number, names: events.map(({ what }) => what) }
}

t.test('each replica is restarted when the one before is ready, and its balancer knows it', async (t) => {
  const instances = [{ name: '1', failures: 3 }, { name: '2' }, { name: '3', isActive: false }, { name: '4' }]
  const { events, errors, code, names } = await restart(t, 'deb-systemd-invoke', instances)
  t.strictSame([code, errors], [0, ''])
  t.strictSame(names, [
    'ready 1',
    'deb-systemd-invoke restarts 1',
    'ready 1',
    'ready 2',
    'deb-systemd-invoke restarts 2',
    'ready 2',
    'deb-systemd-invoke restarts 4',
  ])
  const [, , ready, , next] = events
  t.ok((next?.at ?? 0) - (ready?.at ?? 0) >= 1000 * PAUSE_S - 10, 'the balancer has time to see it')
})

t.test('a replica that does not become ready: the others keep running', async (t) => {
  const instances = [{ name: '1', failures: Number.POSITIVE_INFINITY }, { name: '2' }]
  const { errors, code, names } = await restart(t, 'systemctl', instances)
  t.equal(code, 1)
  t.match(errors, /manager-edge@1\.service is not ready\. .*: manager-edge@2\.service/)
  t.strictSame(names, ['ready 1', 'systemctl restarts 1'])
})

t.test('a replica that was not ready before is not waited for', async (t) => {
  const { code, names } = await restart(t, 'systemctl', [
    { name: '1', isReady: false, failures: Number.POSITIVE_INFINITY },
    { name: '2' },
  ])
  t.strictSame([code, names], [0, ['systemctl restarts 1', 'systemctl restarts 2']])
})

t.test('a configuration that the new version refuses: the replica keeps running', async (t) => {
  const { errors, code, names } = await restart(t, 'systemctl', [{ name: '1', configuration: 'cluster: 5\n' }])
  t.equal(code, 1)
  t.match(errors, /manager-edge@1\.service still runs the previous version.*\n.*cluster: must be/)
  t.strictSame(names, [])
})

t.test('both packages run it after an upgrade', async (t) => {
  const run = /node \/usr\/lib\/manager-edge\/restart-replicas\.mjs --command (\S+)/
  t.equal(run.exec(readFileSync('packaging/debian/postinst', 'utf8'))?.[1], 'deb-systemd-invoke')
  t.equal(run.exec(readFileSync('packaging/rpm/manager-edge.spec', 'utf8'))?.[1], 'systemctl')
  t.match(readFileSync('packaging/stage', 'utf8'), 'cp packaging/restart-replicas.mjs "$lib"\n')
})
