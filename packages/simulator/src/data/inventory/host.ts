/** Hardware and operating system of a host. */
import type { Row } from '../../model.ts'
import type { Machine } from '../machine.ts'

const CPUS = [
  ['Intel(R) Xeon(R) CPU E5-2676 v3 @ 2.40GHz', 2400.1],
  ['Intel(R) Xeon(R) Platinum 8175M CPU @ 2.50GHz', 2500.042],
  ['Intel(R) Core(TM) i7-8700K CPU @ 3.70GHz', 3700],
  ['AMD EPYC 7571', 2199.98],
] as const

export function hardware(machine: Machine): Row {
  const random = machine.lasting('hardware')
  const [name, mhz] = random.pick(CPUS)
  const total = random.pick([1_014_968, 2_046_880, 4_045_120, 8_167_548, 16_424_500, 32_877_056])
  const serial = random.chance(0.3) ? random.hex(16).toUpperCase() : 'unknown'
  const cores = random.pick([1, 2, 2, 4, 8])
  const free = Math.floor(total * (0.05 + 0.7 * machine.passing('ram').fraction()))
  return {
    board_serial: serial,
    cpu_name: name,
    cpu_cores: cores,
    cpu_mhz: mhz,
    ram_total: total,
    ram_free: free,
    ram_usage: Math.round((1 - free / total) * 100),
  }
}

export function system(machine: Machine): Row {
  const { os } = machine
  // "Linux |host |5.10.0 |#1 SMP … |x86_64"; on Windows only the name of the system.
  const [sysname, , release, version, architecture] = (os.uname ?? '').split('|').map((part) => part.trim())
  const windows = machine.kind === 'windows'
  const codename = os.codename
  return {
    hostname: machine.host,
    architecture: architecture ?? 'x86_64',
    os_name: os.name,
    os_version: codename === undefined ? os.version : `${os.version} (${codename})`,
    os_codename: codename,
    os_major: os.major,
    os_minor: os.minor,
    os_build: os.build,
    os_platform: os.platform,
    sysname: windows ? undefined : sysname,
    release,
    version,
  }
}
