/** What agents report since release 4.14: users, groups, browser extensions and services of a host. */
import type { Row } from '../../model.ts'
import type { Machine } from '../machine.ts'

const ACCOUNTS = ['root', 'daemon', 'www-data', 'backup', 'operator'] as const
/** In the order of their ids. */
const SERVICES = ['cron', 'rsyslog', 'ssh', 'systemd-journald', 'unattended-upgrades'] as const

export function users(machine: Machine): Row[] {
  const random = machine.lasting('users')
  return ACCOUNTS.map((user_name, at) => ({
    user_id: idOf(at),
    user_name,
    user_group_id: idOf(at),
    user_home: at === 0 ? '/root' : `/home/${user_name}`,
    user_shell: at === 0 ? '/bin/bash' : '/usr/sbin/nologin',
    user_is_hidden: false,
  })).filter((_, at) => at < 3 || random.chance(0.5))
}

export function groups(): Row[] {
  return ACCOUNTS.map((name, at) => ({
    group_id: idOf(at),
    group_name: name,
    group_is_hidden: false,
    group_users: name,
  }))
}

function idOf(at: number): number {
  return at === 0 ? 0 : 900 + at
}

export function extensions({ kind }: Machine): Row[] {
  if (kind === 'linux') return []
  return [{ browser_name: 'firefox', user_id: 1000, package_name: 'uBlock Origin', package_version: '1.58.0' }]
}

export function services(machine: Machine): Row[] {
  const random = machine.lasting('services')
  return SERVICES.map((id) => ({
    service_id: id,
    service_name: id,
    service_state: random.chance(0.9) ? 'ACTIVE' : 'INACTIVE',
    service_start_type: 'enabled',
    service_type: 'service',
  }))
}
