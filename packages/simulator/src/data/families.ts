/** The families of rules and decoders in the simulated ruleset: each has a rule file, and many have a decoder file. */
import { events, type Theme } from './events.ts'

export interface Family {
  /** The prefix of the file name, which determines the order of files. */
  readonly number: string
  readonly name: string
  /** The id of the first rule. */
  readonly base: number
  /** Groups of all rules, comma-separated. */
  readonly groups: string
  /** The program whose lines match; absent: lines match by their text. */
  readonly program?: string
  readonly themes: readonly Theme[]
  /** Whether the family has a decoder file. */
  readonly decoders: boolean
}

// number, name, first id, groups, program, themes, and whether the family has its own decoders
const table = `
0015 manager       500   ossec              -            service,integrity
0020 syslog        1000  syslog             -            service,resources,network
0025 sendmail      3100  syslog,sendmail    sendmail     service,network                     decoders
0030 postfix       3300  syslog,postfix     postfix      login,network,service               decoders
0040 imapd         3600  syslog,imapd       imapd        login,service                       decoders
0055 courier       3900  syslog,courier     pop3d        login,service                       decoders
0060 firewall      4100  firewall           -            network,service
0065 pix           4300  syslog,pix         -            network,login,service               decoders
0070 netscreenfw   4500  syslog,netscreenfw -            network,service                     decoders
0080 sonicwall     4800  syslog,sonicwall   -            network,login,service               decoders
0085 pam           5500  pam,syslog         pam          login,service                       decoders
0090 telnetd       5600  syslog,telnetd     telnetd      login,network                       decoders
0095 sshd          5700  syslog,sshd        sshd         login,network,service               decoders
0110 ms-auth       18100 windows            -            login,service,integrity
0115 arpwatch      7200  syslog,arpwatch    arpwatch     network                             decoders
0120 symantec-av   7300  windows,symantec   -            integrity,service
0140 named         12100 syslog,named       named        service,network                     decoders
0145 smbd          13100 syslog,smbd        smbd         login,network,service               decoders
0155 dovecot       9700  syslog,dovecot     dovecot      login,service,network               decoders
0160 vmpop3d       9800  syslog,vm-pop3d    vm-pop3d     login,service
0170 ftpd          11100 syslog,ftpd        ftpd         login,network,service               decoders
0175 proftpd       11200 syslog,proftpd     proftpd      login,network,service               decoders
0180 pure-ftpd     11300 syslog,pure-ftpd   pure-ftpd    login,network                       decoders
0185 vsftpd        11400 syslog,vsftpd      vsftpd       login,network                       decoders
0200 trend-osce    7600  trend_micro,ocse   -            integrity,service
0205 hordeimp      9300  syslog,hordeimp    HORDE        login,web
0215 policy        17100 policy_violation   -            integrity
0220 msauth-policy 18500 windows,policy     -            login,integrity,resources
0230 web           31100 web,accesslog      -            web,network
0235 web-appsec    31500 web,appsec         -            web,integrity
0245 nginx         31300 web,nginx          nginx        web,service,network                 decoders
0250 apache        30100 apache,web         apache2      web,service,login                   decoders
0260 mysql         50100 mysql_log          mysqld       login,service,resources             decoders
0265 postgresql    50500 postgresql_log     postgres     login,service,resources             decoders
0280 attack        40100 syslog,attacks     -            web,network,integrity
0285 systemd       40700 local,systemd      systemd      service,resources                   decoders
0295 mcafee-av     7500  windows,mcafee     -            integrity,service
0340 puppet        80000 puppet             puppet-agent service,integrity
0365 auditd        80700 audit              auditd       login,integrity,resources           decoders
0435 docker        87900 docker             dockerd      service,network,resources,integrity
0475 amazon        80200 amazon,aws         -            login,network,integrity,service
`

/** In the order of their files. */
export const families: readonly Family[] = table.trim().split('\n').map(readFamily)

function readFamily(line: string): Family {
  const [number = '', name = '', base = '', groups = '', program = '-', themes = '', decoders] = line.split(/ +/)
  return {
    number,
    name,
    base: Number(base),
    groups,
    ...(program === '-' ? {} : { program }),
    themes: themes.split(',').filter((theme): theme is Theme => Object.hasOwn(events, theme)),
    decoders: decoders === 'decoders',
  }
}
