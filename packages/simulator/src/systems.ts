/** The operating systems of simulated agents, as agents report them (fields of `os` without `uname`). */
export interface System {
  readonly os: Readonly<Record<string, string>>
  /** Absent: `uname` is the name of the system (Windows). */
  readonly kernel?: string
}

export const managerSystem: System = {
  os: {
    arch: 'x86_64',
    codename: 'Core',
    major: '7',
    minor: '7',
    name: 'CentOS Linux',
    platform: 'centos',
    version: '7.7',
  },
  kernel: 'Linux |{host} |3.10.0-1062.el7.x86_64 |#1 SMP Wed Aug 7 18:08:02 UTC 2019 |x86_64',
}

const ubuntu: System = {
  os: {
    arch: 'x86_64',
    codename: 'Bionic Beaver',
    major: '18',
    minor: '04',
    name: 'Ubuntu',
    platform: 'ubuntu',
    version: '18.04.4 LTS',
  },
  kernel: 'Linux |{host} |4.15.0-88-generic |#88-Ubuntu SMP Tue Feb 11 20:11:34 UTC 2020 |x86_64',
}

export const systems: readonly [System, ...System[]] = [
  ubuntu,
  ubuntu,
  {
    os: {
      arch: 'x86_64',
      codename: 'Xenial Xerus',
      major: '16',
      minor: '04',
      name: 'Ubuntu',
      platform: 'ubuntu',
      version: '16.04.6 LTS',
    },
    kernel: 'Linux |{host} |4.4.0-173-generic |#203-Ubuntu SMP Wed Jan 15 02:55:01 UTC 2020 |x86_64',
  },
  managerSystem,
  managerSystem,
  {
    os: {
      arch: 'i686',
      codename: 'Final',
      major: '6',
      minor: '10',
      name: 'CentOS Linux',
      platform: 'centos',
      version: '6.10',
    },
    kernel: 'Linux |{host} |2.6.32-754.el6.i686 |#1 SMP Tue Jun 19 21:51:20 UTC 2018 |i686',
  },
  {
    os: {
      arch: 'x86_64',
      codename: 'buster',
      major: '10',
      name: 'Debian GNU/Linux',
      platform: 'debian',
      version: '10',
    },
    kernel: 'Linux |{host} |4.19.0-8-amd64 |#1 SMP Debian 4.19.98-1 (2020-01-26) |x86_64',
  },
  {
    os: {
      arch: 'x86_64',
      codename: 'Maipo',
      major: '7',
      minor: '6',
      name: 'Red Hat Enterprise Linux Server',
      platform: 'rhel',
      version: '7.6',
    },
    kernel: 'Linux |{host} |3.10.0-957.el7.x86_64 |#1 SMP Thu Oct 4 20:48:51 UTC 2018 |x86_64',
  },
  {
    os: {
      build: '14393',
      major: '10',
      minor: '0',
      name: 'Microsoft Windows Server 2016 Standard',
      platform: 'windows',
      version: '10.0.14393',
    },
  },
  {
    os: {
      build: '7601',
      major: '6',
      minor: '1',
      name: 'Microsoft Windows Server 2008 R2 Enterprise',
      platform: 'windows',
      version: '6.1.7601',
    },
  },
  {
    os: {
      arch: 'x86_64',
      codename: 'Catalina',
      major: '10',
      minor: '15',
      name: 'Mac OS X',
      platform: 'darwin',
      version: '10.15.3',
    },
    kernel: 'Darwin |{host} |19.3.0 |Darwin Kernel Version 19.3.0 |x86_64',
  },
]

/** Returns `os` of a host as an agent reports it. */
export function osOf(system: System, host: string): Readonly<Record<string, string>> {
  const uname = system.kernel?.replace('{host}', host) ?? system.os.name ?? ''
  return { ...system.os, uname }
}
