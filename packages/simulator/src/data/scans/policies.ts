/** Policies of security configuration assessment and their checks. */

export interface Policy {
  readonly id: string
  readonly name: string
  readonly description: string
  readonly references: string
  /** The hosts that the policy applies to. */
  readonly family: 'unix' | 'debian' | 'rhel' | 'windows' | 'mac'
  readonly firstId: number
  /** The subjects of the policy. */
  readonly subjects: readonly Subject[]
}

type Subject = 'filesystems' | 'services' | 'kernel' | 'login' | 'ssh' | 'registry'

export interface CheckText {
  readonly section: string
  readonly title: string
  readonly description: string
  readonly rationale: string
  readonly remediation: string
  readonly pci: string
  /** The checked file, folder or key, or the command. */
  readonly place: string
  readonly on: 'file' | 'directory' | 'command' | 'registry'
  readonly rules: readonly { readonly type: string; readonly rule: string }[]
}

const CIS = 'https://www.cisecurity.org/cis-benchmarks/'

export const policies: readonly Policy[] = [
  {
    id: 'unix_audit',
    name: 'System audit for Unix based systems',
    description: 'Guidance for establishing a secure configuration for Unix based systems.',
    references: 'https://www.ssh.com/ssh/',
    family: 'unix',
    firstId: 4000,
    subjects: ['ssh', 'login'],
  },
  {
    id: 'cis_debian9_L1',
    name: 'CIS benchmark for Debian/Linux 9 L1',
    description: 'Prescriptive guidance for a secure configuration posture of Debian Linux 9.',
    references: CIS,
    family: 'debian',
    firstId: 2500,
    subjects: ['filesystems', 'services', 'kernel', 'ssh'],
  },
  {
    id: 'cis_debian9_L2',
    name: 'CIS benchmark for Debian/Linux 9 L2',
    description: 'Prescriptive guidance for a secure configuration posture of Debian Linux 9, second level.',
    references: CIS,
    family: 'debian',
    firstId: 3000,
    subjects: ['filesystems', 'login'],
  },
  {
    id: 'cis_rhel7',
    name: 'CIS benchmark for Red Hat Enterprise Linux 7',
    description: 'Prescriptive guidance for a secure configuration posture of Red Hat Enterprise Linux 7.',
    references: CIS,
    family: 'rhel',
    firstId: 6500,
    subjects: ['filesystems', 'services', 'kernel', 'login', 'ssh'],
  },
  {
    id: 'cis_win2012r2_member_L1',
    name: 'CIS benchmark for Windows Server L1',
    description: 'Prescriptive guidance for a secure configuration posture of Windows Server.',
    references: CIS,
    family: 'windows',
    firstId: 15000,
    subjects: ['registry'],
  },
  {
    id: 'cis_apple_macOS_10.13',
    name: 'CIS benchmark for Apple macOS',
    description: 'Prescriptive guidance for a secure configuration posture of macOS.',
    references: CIS,
    family: 'mac',
    firstId: 8500,
    subjects: ['login', 'ssh'],
  },
]

interface SubjectText {
  readonly on: CheckText['on']
  readonly pci: string
  readonly place: (thing: string) => string
  readonly title: (thing: string) => string
  readonly rule: (thing: string) => string
  readonly things: string
}

const subjects: Readonly<Record<Subject, SubjectText>> = {
  filesystems: {
    on: 'file',
    pci: '2.2.5',
    place: () => '/etc/modprobe.d',
    title: (thing) => `Ensure mounting of ${thing} filesystems is disabled`,
    rule: (thing) => `f:/etc/modprobe.d -> r:^install ${thing} /bin/true;`,
    things: 'cramfs freevxfs jffs2 hfs hfsplus squashfs udf vfat',
  },
  services: {
    on: 'directory',
    pci: '2.2.2',
    place: () => '/etc/init.d',
    title: (thing) => `Ensure ${thing} is not enabled`,
    rule: (thing) => `d:/etc/init.d -> ^${thing}$;`,
    things: 'avahi-daemon cups dhcpd slapd nfs rpcbind named vsftpd httpd dovecot smb squid snmpd ypserv',
  },
  kernel: {
    on: 'command',
    pci: '2.2.4',
    place: (thing) => `sysctl ${thing}`,
    title: (thing) => `Ensure ${thing} is set`,
    rule: (thing) => `c:sysctl ${thing} -> r:=;`,
    things:
      'net.ipv4.ip_forward net.ipv4.tcp_syncookies net.ipv4.conf.all.rp_filter net.ipv6.conf.all.accept_ra fs.suid_dumpable kernel.randomize_va_space',
  },
  login: {
    on: 'file',
    pci: '8.2.3',
    place: () => '/etc/login.defs',
    title: (thing) => `Ensure ${thing} is configured`,
    rule: (thing) => `f:/etc/login.defs -> r:^${thing};`,
    things: 'PASS_MAX_DAYS PASS_MIN_DAYS PASS_MIN_LEN PASS_WARN_AGE UMASK LOGIN_RETRIES ENCRYPT_METHOD',
  },
  ssh: {
    on: 'file',
    pci: '4.1',
    place: () => '/etc/ssh/sshd_config',
    title: (thing) => `Ensure SSH ${thing} is configured`,
    rule: (thing) => `f:/etc/ssh/sshd_config -> !r:^# && r:${thing};`,
    things:
      'Protocol LogLevel X11Forwarding MaxAuthTries IgnoreRhosts HostbasedAuthentication PermitRootLogin PermitEmptyPasswords ClientAliveInterval LoginGraceTime Banner',
  },
  registry: {
    on: 'registry',
    pci: '8.1',
    place: (thing) => `HKEY_LOCAL_MACHINE\\System\\CurrentControlSet\\Control\\Lsa\\${thing}`,
    title: (thing) => `Ensure policy ${thing} is set`,
    rule: (thing) => `r:HKEY_LOCAL_MACHINE\\System\\CurrentControlSet\\Control\\Lsa -> ${thing} -> 1;`,
    things:
      'LimitBlankPasswordUse RestrictAnonymous NoLMHash DisableDomainCreds ForceGuest FullPrivilegeAuditing SCENoApplyLegacyAuditPolicy CrashOnAuditFail',
  },
}

/** Returns the checks of a policy in order. */
export function checkTexts(policy: Policy): CheckText[] {
  return policy.subjects.flatMap((subject, chapter) => {
    const { on, pci, place, title, rule, things } = subjects[subject]
    return things.split(' ').map((thing, index) => ({
      section: `${chapter + 1}.${index + 1}`,
      title: title(thing),
      description: `${title(thing)}, as the benchmark asks.`,
      rationale: 'What is not needed is a way in, and what is not set has a weak default.',
      remediation: `Edit ${place(thing)} and reload what reads it.`,
      pci,
      place: place(thing),
      on,
      rules: [{ type: on, rule: rule(thing) }],
    }))
  })
}
