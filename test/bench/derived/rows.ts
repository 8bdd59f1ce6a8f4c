/** Agents with rows of the length that real ones have, in the order of their ids. */

const PLATFORMS = ['ubuntu', 'centos', 'windows', 'debian', 'rhel']

export interface AgentRow {
  readonly id: string
  readonly name: string
  readonly status: string
  readonly dateAdd: string
  readonly os: { readonly platform: string }
}

/** `at`: the number of the agent, from 0. */
export function agentRow(at: number): AgentRow {
  const platform = PLATFORMS[at % PLATFORMS.length] ?? ''
  const ip = `10.${at >> 16}.${(at >> 8) & 255}.${at & 255}`
  const hash = ((at + 1) * 2_654_435_761).toString(16).padStart(16, '0').repeat(2).slice(0, 32)
  const row = {
    id: String(at + 1).padStart(3, '0'),
    name: `host-${(at * 7919) % 1_000_003}`,
    ip,
    registerIP: ip,
    status: at % 3 === 0 ? 'Active' : 'Disconnected',
    os: {
      arch: 'x86_64',
      codename: 'Bionic Beaver',
      major: String(at % 20),
      minor: '04',
      name: platform,
      platform,
      uname: `Linux |host-${at} |4.15.0-${at % 90}-generic |#1 SMP |x86_64`,
      version: `${at % 20}.04`,
    },
    version: `Wazuh v3.${at % 12}.4`,
    manager: 'master',
    node_name: `worker-${at % 4}`,
    group: at % 5 === 0 ? ['default', 'web'] : ['default'],
    mergedSum: hash,
    configSum: hash,
    dateAdd: `2026-0${1 + (at % 9)}-1${at % 10} 10:00:${String(at % 60).padStart(2, '0')}`,
    lastKeepAlive: `2026-11-20 12:${String(at % 60).padStart(2, '0')}:00`,
  }
  return row
}
