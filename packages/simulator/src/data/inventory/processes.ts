/** Processes of a host and their listening ports. */
import type { Row } from '../../model.ts'
import type { Machine } from '../machine.ts'
import type { Random } from '../random.ts'

interface Program {
  readonly name: string
  readonly command: string
  readonly user: string
  /** The listening port of the process. */
  readonly port?: number
  readonly protocol?: 'tcp' | 'udp'
  readonly arguments?: string
}

const linuxPrograms: readonly Program[] = [
  { name: 'systemd', command: '/lib/systemd/systemd', user: 'root', arguments: '--system --deserialize 18' },
  { name: 'kthreadd', command: '', user: 'root' },
  { name: 'sshd', command: '/usr/sbin/sshd', user: 'root', port: 22, arguments: '-D' },
  { name: 'ossec-execd', command: '/var/ossec/bin/ossec-execd', user: 'root' },
  { name: 'ossec-agentd', command: '/var/ossec/bin/ossec-agentd', user: 'ossec' },
  { name: 'ossec-syscheckd', command: '/var/ossec/bin/ossec-syscheckd', user: 'root' },
  { name: 'ossec-logcollec', command: '/var/ossec/bin/ossec-logcollector', user: 'root' },
  { name: 'wazuh-modulesd', command: '/var/ossec/bin/wazuh-modulesd', user: 'root' },
  { name: 'systemd-journal', command: '/lib/systemd/systemd-journald', user: 'root' },
  { name: 'systemd-udevd', command: '/lib/systemd/systemd-udevd', user: 'root' },
  { name: 'dbus-daemon', command: '/usr/bin/dbus-daemon', user: 'messagebus', arguments: '--system' },
  { name: 'cron', command: '/usr/sbin/cron', user: 'root', arguments: '-f' },
  { name: 'rsyslogd', command: '/usr/sbin/rsyslogd', user: 'syslog', port: 514, protocol: 'udp', arguments: '-n' },
  { name: 'agetty', command: '/sbin/agetty', user: 'root', arguments: '--noclear tty1 linux' },
  { name: 'chronyd', command: '/usr/sbin/chronyd', user: '_chrony', port: 323, protocol: 'udp' },
  { name: 'nginx', command: '/usr/sbin/nginx', user: 'www-data', port: 80 },
  { name: 'apache2', command: '/usr/sbin/apache2', user: 'www-data', port: 443, arguments: '-k start' },
  { name: 'mysqld', command: '/usr/sbin/mysqld', user: 'mysql', port: 3306 },
  { name: 'postgres', command: '/usr/lib/postgresql/11/bin/postgres', user: 'postgres', port: 5432 },
  { name: 'redis-server', command: '/usr/bin/redis-server', user: 'redis', port: 6379, arguments: '127.0.0.1:6379' },
  { name: 'master', command: '/usr/lib/postfix/sbin/master', user: 'root', port: 25, arguments: '-w' },
  { name: 'snmpd', command: '/usr/sbin/snmpd', user: 'Debian-snmp', port: 161, protocol: 'udp' },
  { name: 'dockerd', command: '/usr/bin/dockerd', user: 'root', port: 2375, arguments: '-H fd://' },
  { name: 'haproxy', command: '/usr/sbin/haproxy', user: 'haproxy', port: 8080, arguments: '-Ws' },
  { name: 'bash', command: '-bash', user: 'operator' },
  { name: 'sleep', command: 'sleep', user: 'root', arguments: '3600' },
]

const windowsProcesses: readonly Program[] = [
  { name: 'System', command: 'none', user: 'SYSTEM', port: 445 },
  { name: 'smss.exe', command: '\\SystemRoot\\System32\\smss.exe', user: 'SYSTEM' },
  { name: 'lsass.exe', command: 'C:\\Windows\\system32\\lsass.exe', user: 'SYSTEM', port: 49664 },
  { name: 'services.exe', command: 'C:\\Windows\\system32\\services.exe', user: 'SYSTEM', port: 49665 },
  { name: 'svchost.exe', command: 'C:\\Windows\\system32\\svchost.exe', user: 'NETWORK SERVICE', port: 135 },
  { name: 'ossec-agent.exe', command: 'C:\\Program Files (x86)\\ossec-agent\\ossec-agent.exe', user: 'SYSTEM' },
  { name: 'w3wp.exe', command: 'C:\\Windows\\System32\\inetsrv\\w3wp.exe', user: 'NETWORK SERVICE', port: 80 },
  { name: 'sqlservr.exe', command: 'C:\\Program Files\\Microsoft SQL Server\\sqlservr.exe', user: 'mssql', port: 1433 },
  { name: 'explorer.exe', command: 'C:\\Windows\\Explorer.EXE', user: 'operator' },
  { name: 'notepad.exe', command: 'C:\\Windows\\system32\\notepad.exe', user: 'operator' },
]

interface Running extends Program {
  readonly pid: number
}

/** Essential programs are first; each host runs its own selection of the others. */
function runningOn(machine: Machine): Running[] {
  const random = machine.lasting('processes')
  const programs = machine.kind === 'windows' ? windowsProcesses : linuxPrograms
  let pid = 0
  return programs
    .filter((_, index) => index < 6 || random.chance(0.5))
    .map((program, index) => {
      pid += index < 2 ? 1 : random.int(3, 180)
      return { ...program, pid }
    })
}

export function processes(machine: Machine): Row[] {
  const random = machine.passing('processes')
  return runningOn(machine).map((program) =>
    machine.kind === 'windows' ? windowsProcess(program, random) : unixProcess(program, random),
  )
}

function unixProcess(program: Running, random: Random): Row {
  const { pid, name, command, user } = program
  const size = random.int(600, 90_000)
  const users = { euser: user, ruser: user, suser: user, egroup: user, rgroup: user, sgroup: user, fgroup: user }
  return {
    pid: String(pid),
    name,
    state: random.chance(0.06) ? 'R' : 'S',
    ppid: pid === 1 ? 0 : 1,
    utime: random.int(0, 900),
    stime: random.int(0, 400),
    cmd: command === '' ? undefined : command,
    argvs: program.arguments,
    ...users,
    priority: 20,
    nice: 0,
    size,
    vm_size: size * 4,
    resident: Math.floor(size / 3),
    share: random.int(0, 2000),
    start_time: random.int(1000, 900_000),
    pgrp: pid,
    session: pid,
    nlwp: random.int(1, 24),
    tgid: pid,
    tty: 0,
    processor: random.int(0, 3),
  }
}

function windowsProcess({ pid, name, command, user }: Running, random: Random): Row {
  return {
    pid: String(pid * 4),
    name,
    ppid: pid === 1 ? 0 : 4,
    utime: random.int(0, 900),
    stime: random.int(0, 400),
    cmd: command,
    euser: user,
    priority: 8,
    size: random.int(400_000, 90_000_000),
    start_time: random.int(1_560_000_000, 1_580_000_000),
    nlwp: random.int(1, 60),
    session: user === 'operator' ? 1 : 0,
    vm_size: random.int(400_000, 90_000_000),
  }
}

/** Only Windows reports the process of a port. */
export function ports(machine: Machine): Row[] {
  const random = machine.passing('ports')
  return runningOn(machine).flatMap(({ pid, name, port, protocol = 'tcp' }) => {
    if (port === undefined) return []
    const holder = machine.kind === 'windows' ? { pid: pid * 4, process: name } : {}
    const listening = {
      protocol,
      local_ip: '0.0.0.0',
      local_port: port,
      remote_ip: '0.0.0.0',
      remote_port: 0,
      tx_queue: 0,
      rx_queue: 0,
      inode: random.int(10_000, 9_000_000),
      state: protocol === 'tcp' ? 'listening' : undefined,
      ...holder,
    }
    if (protocol === 'udp' || !random.chance(0.3)) return [listening]
    const client = {
      remote_ip: `10.20.${random.int(0, 255)}.${random.int(1, 254)}`,
      remote_port: random.int(32768, 60999),
    }
    return [listening, { ...listening, local_ip: machine.address, ...client, state: 'established' }]
  })
}
