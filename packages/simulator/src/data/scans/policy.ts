/** Findings of rootkit detection and policy monitoring on a host. */
import type { Row } from '../../model.ts'
import type { Machine } from '../machine.ts'
import { after, stamp } from '../times.ts'

interface Finding {
  readonly event: string
  readonly cis?: string
  readonly pci?: string
}

const unixFindings: readonly Finding[] = [
  {
    event:
      "Trojaned version of file '/bin/diff' detected. Signature used: 'bash|^/bin/sh|file\\.h|proc\\.h' (Generic).",
  },
  { event: "Trojaned version of file '/usr/bin/diff' detected. Signature used: 'bash|^/bin/sh|file\\.h' (Generic)." },
  { event: "File '/var/tmp/.hidden' is owned by root and has written permissions to anyone." },
  { event: 'System Audit: SSH Hardening - 1: Port 22 {PCI_DSS: 2.2.4}.', pci: '2.2.4' },
  { event: 'System Audit: SSH Hardening - 3: Root can log in {PCI_DSS: 2.2.4}.', pci: '2.2.4' },
  { event: 'System Audit: SSH Hardening - 5: Password Authentication {PCI_DSS: 2.2.4}.', pci: '2.2.4' },
  { event: 'System Audit: SSH Hardening - 8: Wrong Grace Time {PCI_DSS: 2.2.4}.', pci: '2.2.4' },
  {
    event:
      'System Audit: CIS - Testing against the CIS Benchmark: 1.4 Robust partition scheme - /tmp is not on its own partition {CIS: 1.4 Debian Linux}.',
    cis: '1.4 Debian Linux',
  },
  {
    event: 'System Audit: CIS - 2.3 User-mounted removable media {CIS: 2.3 Debian Linux} {PCI_DSS: 2.2.4}.',
    cis: '2.3 Debian Linux',
    pci: '2.2.4',
  },
  {
    event:
      'System Audit: CIS - 4.13 Disable standard boot services - Web server enabled {CIS: 4.13 Debian Linux} {PCI_DSS: 2.2.2}.',
    cis: '4.13 Debian Linux',
    pci: '2.2.2',
  },
  { event: 'System Audit: CIS - 8.8 GRUB password not set {CIS: 8.8 Debian Linux}.', cis: '8.8 Debian Linux' },
  { event: 'System Audit: PHP - Allow URL fopen is enabled {PCI_DSS: 6.2, 6.5}.', pci: '6.2,6.5' },
]

const windowsFindings: readonly Finding[] = [
  { event: 'Windows Audit: Disabled Registry tools set.' },
  { event: 'Windows Audit: DCOM disabled {PCI_DSS: 10.6.1}.', pci: '10.6.1' },
  { event: 'Windows Audit: LM authentication allowed (weak passwords) {PCI_DSS: 10.6.1, 11.4}.', pci: '10.6.1,11.4' },
  { event: 'Windows Audit: Winpcap packet filter driver found {PCI_DSS: 10.6.1}.', pci: '10.6.1' },
  { event: 'Windows Audit: Null sessions allowed {PCI_DSS: 11.4}.', pci: '11.4' },
]

/** Findings that the scan of `start` no longer detects are solved. */
export function findings(machine: Machine, start: Date): Row[] {
  const random = machine.lasting('findings')
  const list = machine.kind === 'windows' ? windowsFindings : unixFindings
  return list
    .filter(() => random.chance(0.7))
    .map(({ event, cis, pci }, index) => {
      const first = after(start, -random.int(2, 60) * 43_200)
      const solved = random.chance(0.15)
      return {
        status: solved ? 'solved' : 'outstanding',
        oldDay: stamp(first),
        readDay: stamp(after(start, solved ? -43_200 - index : index + 2)),
        event,
        pci,
        cis,
      }
    })
}
