/** The inventories that agents report since release 4.14: users, groups, browser extensions and services. */
import { randomFor } from '../../data/random.ts'
import type { SimAgent, World } from '../../model.ts'
import type { Item } from '../collection.ts'
import { isoAt } from '../rows.ts'
import { type Inventory, scanFields, syscollectorTexts } from './inventory-tables.ts'

const ACCOUNTS = ['root', 'daemon', 'www-data', 'backup', 'operator'] as const
const SERVICES = ['cron', 'ssh', 'rsyslog', 'systemd-journald', 'unattended-upgrades'] as const

type RowsOf = (agent: SimAgent, world: World) => Item[]

const users: RowsOf = (agent, world) =>
  ACCOUNTS.filter((_, at) => at < 3 || randomFor(world.seed, 'user', agent.id, at).chance(0.5)).map((name, at) => ({
    user: {
      id: at === 0 ? 0 : 900 + at,
      name,
      group_id: at === 0 ? 0 : 900 + at,
      home: at === 0 ? '/root' : `/home/${name}`,
      shell: at === 0 ? '/bin/bash' : '/usr/sbin/nologin',
      is_hidden: false,
    },
  }))

const groups: RowsOf = () =>
  ACCOUNTS.map((name, at) => ({ group: { id: at === 0 ? 0 : 900 + at, name, is_hidden: false, users: [name] } }))

const extensions: RowsOf = ({ os }) =>
  os?.platform === 'windows' || os?.platform === 'darwin'
    ? [{ browser: { name: 'firefox' }, user: { id: 1000 }, package: { name: 'uBlock Origin', version: '1.58.0' } }]
    : []

const services: RowsOf = (agent, world) =>
  SERVICES.map((id) => {
    const active = randomFor(world.seed, 'service', agent.id, id).chance(0.9)
    return { service: { id, name: id, state: active ? 'ACTIVE' : 'INACTIVE', start_type: 'enabled', type: 'service' } }
  })

const under = (outer: string, names: string) => names.split(' ').map((name) => `${outer}.${name}`)

const inventory = (kind: string, fields: readonly string[], rowsOf: RowsOf): Inventory => ({
  path: `/syscollector/{agent_id}/${kind}`,
  ofOneOnly: true,
  fields: [...scanFields, ...fields],
  action: 'syscollector:read',
  texts: syscollectorTexts,
  cost: 12,
  rowsOf: (world, machine, agent) => {
    const time = isoAt(machine.scanned)
    return rowsOf(agent, world).map((row) => ({ ...row, scan: { id: 0, time }, agent_id: agent.id }))
  },
})

export const laterInventories: readonly Inventory[] = [
  inventory('users', under('user', 'id name group_id home shell is_hidden'), users),
  inventory('groups', under('group', 'id name is_hidden users'), groups),
  inventory('browser_extensions', ['browser.name', 'user.id', 'package.name', 'package.version'], extensions),
  inventory('services', under('service', 'id name state start_type type'), services),
]
