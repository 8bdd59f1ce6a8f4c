/** Monitored files and registry keys of a host. */
import type { Row } from '../../model.ts'
import type { Machine } from '../machine.ts'
import type { Random } from '../random.ts'
import { after, stamp } from '../times.ts'

const folders: Readonly<Record<string, string>> = {
  '/etc':
    'adduser.conf bash.bashrc crontab debconf.conf fstab group gshadow host.conf hostname hosts inputrc issue ld.so.conf localtime login.defs logrotate.conf machine-id motd nanorc networks nsswitch.conf os-release passwd profile protocols resolv.conf rpc securetty services shadow shells subgid subuid sudoers sysctl.conf timezone wgetrc',
  '/etc/ssh': 'moduli ssh_config sshd_config ssh_host_rsa_key ssh_host_rsa_key.pub',
  '/etc/pam.d':
    'chfn chpasswd common-account common-auth common-password common-session cron login other passwd sshd su sudo',
  '/etc/ssl': 'openssl.cnf private.key',
  '/usr/bin':
    'apt awk base64 bzip2 chage cmp comm crontab curl cut diff dig dpkg du env expr file find free gcc git gpg groups head id install join killall last less locale logger lsof make man md5sum mkfifo nice nohup openssl passwd patch perl pgrep printf python3 rsync scp screen script sha256sum sort ssh split stat strace sudo tail tee time top touch tr uniq uptime vim wall watch wc wget which who xargs zip',
  '/usr/sbin':
    'adduser apache2 chroot cron deluser groupadd iptables logrotate nginx rsyslogd sshd useradd userdel usermod visudo',
  '/bin':
    'bash cat chmod chown cp date dd df dmesg echo grep gzip kill ln ls mkdir more mount mv ping ps pwd rm sed sh sleep su sync tar true umount uname',
  '/sbin': 'fdisk fsck ifconfig init ip losetup mkfs modprobe reboot route shutdown swapon sysctl',
  '/boot': 'System.map config initrd.img vmlinuz',
}

const WINDOWS_FILES =
  'at.exe attrib.exe cacls.exe cmd.exe drwtsn32.exe eventcreate.exe expand.exe ftp.exe icacls.exe net.exe net1.exe netsh.exe reg.exe regedt32.exe regsvr32.exe runas.exe sc.exe schtasks.exe sethc.exe subst.exe wevtutil.exe wusa.exe'

const REGISTRY_KEYS =
  'Classes\\batfile Classes\\cmdfile Classes\\comfile Classes\\exefile Classes\\piffile Classes\\Directory Classes\\Folder Classes\\Protocols Policies Microsoft\\Security Microsoft\\Windows\\CurrentVersion\\Run Microsoft\\Windows\\CurrentVersion\\RunOnce Microsoft\\Windows\\CurrentVersion\\URL Microsoft\\Windows\\CurrentVersion\\Policies'

/** Returns unordered rows; `start` is the begin of the last scan. */
export function watchedFiles(machine: Machine, start: Date): Row[] {
  const random = machine.lasting('files')
  if (machine.kind === 'windows') {
    const files = WINDOWS_FILES.split(' ').map((name) => `c:\\windows\\system32\\${name}`)
    const keys = REGISTRY_KEYS.split(' ').map((name) => `HKEY_LOCAL_MACHINE\\Software\\${name}`)
    return [
      ...files.map((file, index) => row(file, index, start, random, WINDOWS)),
      ...keys.map((key, index) => row(key, index, start, random, { ...WINDOWS, type: 'registry' })),
    ]
  }
  const files = Object.entries(folders).flatMap(([folder, names]) => {
    return names.split(' ').map((name) => ({ file: `${folder}/${name}`, program: folder.endsWith('bin') }))
  })
  // Essential settings are first; each host has its own selection of the rest.
  return files
    .filter((_, index) => index < 20 || random.chance(0.85))
    .map(({ file, program }, index) => row(file, index, start, random, program ? PROGRAM : SETTINGS))
}

interface Owner {
  readonly type: 'file' | 'registry'
  readonly perm?: string
  readonly uname: string
  readonly gname?: string
  readonly uid?: string
  readonly gid?: string
}

const SETTINGS: Owner = { type: 'file', perm: '100644', uname: 'root', gname: 'root', uid: '0', gid: '0' }
const PROGRAM: Owner = { ...SETTINGS, perm: '100755' }
const WINDOWS: Owner = { type: 'file', uname: 'Administrators', uid: 'S-1-5-32-544' }

const OLDEST = Date.UTC(2014, 0, 1) / 1000
const NEWEST = Date.UTC(2020, 1, 1) / 1000

function row(file: string, index: number, start: Date, random: Random, owner: Owner): Row {
  const key = owner.type === 'registry'
  return {
    file,
    date: stamp(after(start, Math.floor(index / 8))),
    ...owner,
    size: key ? undefined : random.int(0, 400_000),
    inode: owner.gname === undefined ? undefined : random.int(10_000, 900_000),
    mtime: stamp(new Date(random.int(OLDEST, NEWEST) * 1000)),
    md5: key ? undefined : random.hex(32),
    sha1: random.hex(40),
    sha256: key ? undefined : random.hex(64),
  }
}
