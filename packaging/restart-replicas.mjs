// Restarts the running replicas of this machine one after the other, after an upgrade of the package:
//   node restart-replicas.mjs --command systemctl|deb-systemd-invoke [--pause 5] [--patience 60]
// A replica that stops leaves its balancer by itself. The next one is restarted once /readyz of the one before is 200, and
// `pause` seconds later: a balancer sends requests after two good checks. If a replica is not ready within `patience`
// seconds, or the new version refuses its configuration, the others keep running, and the exit code is 1.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { get as plain } from 'node:http'
import { get as tls } from 'node:https'
import { setTimeout as wait } from 'node:timers/promises'
import { parseArgs } from 'node:util'

const text = (value) => ({ type: 'string', default: value })
const { values } = parseArgs({ options: { command: text('systemctl'), pause: text('5'), patience: text('60') } })
const [pause, patience] = [values.pause, values.patience].map((seconds) => 1000 * Number(seconds))

/** Returns the lines that systemctl prints. */
function systemctl(...args) {
  return `${spawnSync('systemctl', args, { encoding: 'utf8' }).stdout ?? ''}`.split('\n').filter((line) => line !== '')
}

const propertyOf = (unit, name) => systemctl('show', `--property=${name}`, '--value', unit)

/** Returns the lines of the file of variables that an instance may have. */
function linesOf(file) {
  try {
    return readFileSync(file, 'utf8').split('\n')
  } catch {
    return []
  }
}

/** Returns the URL of /readyz of a replica, or ends this process if the configuration is refused. */
function readyUrlOf(unit) {
  const files = propertyOf(unit, 'EnvironmentFiles').map((line) => line.replace(/ \(.*$/, ''))
  const variables = [...propertyOf(unit, 'Environment').flatMap((line) => line.split(' ')), ...files.flatMap(linesOf)]
  const env = { ...process.env }
  for (const variable of variables) {
    const [, name, , value] = /^\s*(EDGE_\w+)=(["']?)(.*?)\2\s*$/.exec(variable) ?? []
    if (name !== undefined) env[name] = value
  }
  const [, file] = /--config[ =](\S+)/.exec(propertyOf(unit, 'ExecStart').join(' ')) ?? []
  const args = ['config', 'print', '--json', ...(file === undefined ? [] : ['--config', file])]
  const { status, stdout, stderr } = spawnSync('manager-edge', args, { env, encoding: 'utf8' })
  if (status !== 0)
    stop(`${unit} still runs the previous version, because this one refuses its configuration:\n${stderr}`)
  const operations = Object.fromEntries(JSON.parse(stdout).settings.map(({ setting, value }) => [setting, value]))
  const { 'operations.host': host, 'operations.port': port, 'operations.tls.cert': certificate } = operations
  const address = { '0.0.0.0': '127.0.0.1', '::': '::1' }[host] ?? host
  return new URL(`http${certificate ? 's' : ''}://${address.includes(':') ? `[${address}]` : address}:${port}/readyz`)
}

function stop(message) {
  console.error(`manager-edge: ${message}`)
  process.exit(1)
}

/** On this machine, the certificate need not be verified. */
function isReady(url) {
  return new Promise((resolve) => {
    const get = url.protocol === 'https:' ? tls : plain
    const options = { timeout: 2000, rejectUnauthorized: false, agent: false }
    get(url, options, (answer) => resolve(answer.resume().statusCode === 200))
      .on('timeout', () => resolve(false))
      .on('error', () => resolve(false))
  })
}

async function becomesReady(url) {
  for (const end = performance.now() + patience; performance.now() < end; await wait(patience / 100))
    if (await isReady(url)) return true
  return false
}

const instances = systemctl('list-units', '--plain', '--no-legend', 'manager-edge@*.service')
const units = ['manager-edge.service', ...instances.map((line) => line.split(' ')[0])].filter(
  (unit) => systemctl('is-active', unit)[0] === 'active',
)
for (const [at, unit] of units.entries()) {
  const url = readyUrlOf(unit)
  // A replica that was not ready before, as while the manager is down, is not waited for.
  const isAwaited = at < units.length - 1 && (await isReady(url))
  spawnSync(values.command, ['try-restart', unit], { stdio: 'inherit' })
  if (!isAwaited) continue
  if (!(await becomesReady(url)))
    stop(`${unit} is not ready. These still run the previous version: ${units.slice(at + 1).join(' ')}`)
  await wait(pause)
}
