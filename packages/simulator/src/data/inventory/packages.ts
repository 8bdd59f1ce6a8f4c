/** Packages and hotfixes of a host. */
import type { Row } from '../../model.ts'
import type { Machine } from '../machine.ts'
import { linuxPackages, type Package, windowsPrograms } from './package-list.ts'

const HOTFIXES = [
  'KB2533552',
  'KB2534366',
  'KB2670838',
  'KB3033929',
  'KB4019990',
  'KB4474419',
  'KB4490628',
  'KB4534310',
]

export function packages(machine: Machine): Row[] {
  const random = machine.lasting('packages')
  const windows = machine.kind === 'windows'
  const list = windows ? windowsPrograms : linuxPackages
  // Essential packages are first in the list; each host has its own selection of the others.
  const chosen = list.filter((_, index) => index < 12 || random.chance(0.75))
  return chosen.map((item) => (windows ? program(item) : debian(machine) ? deb(item) : rpm(item)))
}

function debian(machine: Machine): boolean {
  return machine.os.platform === 'debian' || machine.os.platform === 'ubuntu'
}

function deb(item: Package): Row {
  const library = item.name.startsWith('lib')
  return {
    format: 'deb',
    name: item.name,
    priority: item.section === 'admin' ? 'important' : 'optional',
    section: item.section,
    size: item.size,
    vendor: `Debian ${item.section} maintainers <${item.section}@lists.example.org>`,
    version: item.version,
    architecture: item.size % 3 === 0 ? 'all' : 'amd64',
    multiarch: library ? 'same' : 'foreign',
    source: library ? item.name.slice(3) : undefined,
    description: item.description,
  }
}

function rpm(item: Package): Row {
  return {
    format: 'rpm',
    name: item.name,
    size: item.size * 1024,
    vendor: 'CentOS',
    install_time: '2020/01/14 08:22:31',
    version: item.version.replace(/-[^-]*$/, '-1.el7'),
    architecture: item.size % 3 === 0 ? 'noarch' : 'x86_64',
    section: item.section,
    description: item.description,
  }
}

function program(item: Package): Row {
  return {
    format: 'win',
    name: item.name,
    vendor: item.section,
    install_time: '2020/01/14 08:22:31',
    version: item.version,
    architecture: item.size % 2 === 0 ? 'x86_64' : 'i686',
  }
}

/** Only Windows has hotfixes. */
export function hotfixes(machine: Machine): Row[] {
  if (machine.kind !== 'windows') return []
  const random = machine.lasting('hotfixes')
  return HOTFIXES.filter((_, index) => index < 3 || random.chance(0.6)).map((hotfix) => ({ hotfix }))
}
