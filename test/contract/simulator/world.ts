/** A simulated cluster with the agents, groups and users of the recorded one. */

import { type Simulator, startSimulator } from '../../../packages/simulator/src/index.ts'
import type { SimAgent } from '../../../packages/simulator/src/model.ts'

const DAY = 86_400_000

const debian = {
  arch: 'x86_64',
  codename: 'bullseye',
  major: '11',
  name: 'Debian GNU/Linux',
  platform: 'debian',
  version: '11',
}
const linux = (host: string) => ({ ...debian, uname: `Linux |${host} |5.10.0-23-amd64 |#1 SMP Debian |x86_64` })
const systems: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  '004': { ...linux('web01'), major: '18', minor: '04', name: 'Ubuntu', platform: 'ubuntu', version: '18.04.4 LTS' },
  '005': { ...linux('web02'), major: '7', minor: '7', name: 'CentOS Linux', platform: 'centos', version: '7.7' },
  '006': {
    arch: 'x86_64',
    build: '14393',
    major: '10',
    minor: '0',
    name: 'Microsoft Windows Server 2016 Standard',
    platform: 'windows',
    uname: 'Microsoft Windows Server 2016 Standard',
    version: '10.0.14393',
  },
  '007': {
    ...linux('db02'),
    major: '8',
    minor: '6',
    name: 'Red Hat Enterprise Linux',
    platform: 'rhel',
    version: '8.6',
  },
  '010': { ...linux('mac01'), major: '12', minor: '6', name: 'macOS', platform: 'darwin', version: '12.6' },
}

interface Recorded {
  readonly id: string
  readonly name: string
  readonly version?: string
  readonly node?: string
  readonly groups: string[]
}

const agents: readonly Recorded[] = [
  { id: '001', name: 'wazuh-agent1', version: '4.5.4', node: 'master', groups: ['default', 'webserver'] },
  { id: '002', name: 'wazuh-agent2', version: '4.5.4', node: 'worker-1', groups: ['default', 'dmz'] },
  { id: '003', name: 'wazuh-agent3', version: '3.11.4', node: 'worker-2', groups: ['default'] },
  { id: '004', name: 'web01', version: '4.4.5', node: 'worker-1', groups: ['webserver'] },
  { id: '005', name: 'web02', version: '4.5.4', node: 'worker-2', groups: ['webserver'] },
  { id: '006', name: 'db01', version: '4.3.10', node: 'worker-1', groups: ['database'] },
  { id: '007', name: 'db02', version: '3.13.2', node: 'master', groups: ['database'] },
  { id: '008', name: 'fw01', groups: ['dmz'] },
  { id: '009', name: 'fw02', groups: [] },
  { id: '010', name: 'mac01', version: '4.5.0', node: 'worker-2', groups: [] },
]

/** The agents that were alive. The others only had a row in the database of agents. */
const ALIVE = ['001', '002', '003']

export const USERS = {
  reader: { password: 'reader-of-tests', roles: ['readonly'] },
  nobody: { password: 'nobody-of-tests' },
  agadmin: { password: 'agadmin-of-tests', roles: ['agents_admin'] },
  only001: {
    password: 'only001-of-tests',
    roles: [
      {
        actions: ['agent:read', 'syscheck:read', 'syscollector:read', 'agent:restart'],
        resources: ['agent:id:001'],
      },
    ],
  },
} as const

export async function startRecordedCluster(): Promise<Simulator> {
  const v4 = { users: USERS, executionLimit: 50, ownCacheMs: 0 }
  const simulator = await startSimulator({ layout: 'v4', agents: 0, workers: 2, seed: 5, v4 })
  const { world } = simulator
  world.groups.clear()
  const files = new Map([['agent.conf', CONF]])
  const shared = { 'rootkit_files.txt': ROOTKIT, 'rootkit_trojans.txt': TROJANS, 'win_audit_rcl.txt': AUDIT }
  for (const name of ['database', 'default', 'dmz', 'webserver']) {
    world.groups.set(name, { name, files: new Map([...files, ...Object.entries(name === 'default' ? shared : {})]) })
  }
  world.groups.get('dmz')?.files.set('agent.conf', DMZ)
  for (const agent of agents) world.agents.set(agent.id, toAgent(agent, world.now()))
  return simulator
}

function toAgent({ id, name, version, node, groups }: Recorded, now: Date): SimAgent {
  const ip = ALIVE.includes(id) ? `10.78.0.2${Number(id)}` : `10.88.0.${7 + Number(id)}`
  const seconds = Math.floor(now.getTime() / 1000) * 1000
  const seen = new Date(ALIVE.includes(id) ? seconds : seconds - 3 * DAY)
  return {
    id,
    name,
    ip,
    registerIP: ip,
    key: Buffer.from(`${id} ${name} ${ip} ${'0'.repeat(64)}`).toString('base64'),
    dateAdd: new Date(seconds - 4 * DAY),
    groups: [...groups],
    cleared: new Set(),
    restarts: 0,
    ...(version === undefined
      ? {}
      : {
          version: `Wazuh v${version}`,
          lastKeepAlive: seen,
          os: systems[id] ?? linux(name),
          configSum: 'a',
          mergedSum: 'b',
        }),
    ...(node === undefined ? {} : { node }),
  }
}

const CONF = '<agent_config>\n\n  <!-- Shared agent configuration here -->\n\n</agent_config>\n'
const DMZ = `<agent_config>
  <labels>
    <label key="zone">dmz</label>
  </labels>
  <localfile>
    <location>/var/log/dmz.log</location>
    <log_format>syslog</log_format>
  </localfile>
</agent_config>
`
const ROOTKIT = 'tmp/mcliZokhb           ! Bash door ::/rootkits/bashdoor.php\n'
const TROJANS = 'ls          !bash|^/bin/sh|dev/[^clu]!\n'
const AUDIT = `$sshd_file=/etc/ssh/sshd_config;

[DCOM disabled {PCI_DSS: 10.6.1}] [any] []
r:HKEY_LOCAL_MACHINE\\Software\\Microsoft\\OLE -> EnableDCOM -> N;
`
