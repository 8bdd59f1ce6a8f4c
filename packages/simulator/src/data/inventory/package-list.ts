/** Packages of simulated hosts, essential ones first. */

export interface Package {
  readonly name: string
  /** The vendor, for Windows programs. */
  readonly section: string
  readonly version: string
  /** KiB. */
  readonly size: number
  readonly description: string
}

// name|section|version|size|description
const linux = `
adduser|admin|3.118|849|add and remove users and groups
apt|admin|1.8.2|4064|command-line package manager
base-files|admin|10.3|340|base system miscellaneous files
bash|shells|5.0-4|6439|GNU Bourne Again SHell
coreutils|utils|8.30-3|15719|GNU core utilities
dpkg|admin|1.19.7|6693|package management system
grep|utils|3.3-1|1066|GNU grep, egrep and fgrep
libc6|libs|2.28-10|12337|GNU C Library, shared libraries
openssh-server|net|1:7.9p1-10|1571|secure shell server, for secure access from remote machines
passwd|admin|1:4.5-1.1|2478|change and administer password and group data
systemd|admin|241-7|13560|system and service manager
tzdata|localization|2019c-0|3036|time zone and daylight-saving time data
acl|utils|2.2.53-4|208|access control list utilities
apache2|httpd|2.4.38-3|638|HTTP server
apache2-utils|httpd|2.4.38-3|375|HTTP server, utility programs for web servers
arping|net|2.19-6|83|sends IP and ARP pings
at|admin|3.1.23-1|142|delayed job execution and batch processing
auditd|admin|1:2.8.4-3|769|user space tools for security auditing
bc|math|1.07.1-2|225|arbitrary precision calculator language
bind9-host|net|1:9.11.5-5|361|DNS lookup utility
bsdmainutils|utils|11.1.2|587|collection of more utilities
build-essential|devel|12.6|20|informational list of build-essential packages
busybox|utils|1:1.30.1-4|767|tiny utilities for small and embedded systems
bzip2|utils|1.0.6-9|194|block-sorting file compressor, utilities
ca-certificates|misc|20190110|384|common CA certificates
chrony|net|3.4-4|573|versatile implementation of the network time protocol
cpio|utils|2.12-9|944|manages archives of files
cron|admin|3.0pl1-134|266|process scheduling daemon
cryptsetup|admin|2:2.1.0-5|1370|disk encryption support, startup scripts
curl|web|7.64.0-4|401|command line tool for transferring data with URL syntax
dbus|admin|1.12.16-1|593|simple interprocess messaging system
dmidecode|utils|3.2-1|222|decodes the firmware table
docker-ce|admin|5:19.03.5|109443|the open-source application container engine
dnsutils|net|1:9.11.5-5|704|clients provided with BIND
e2fsprogs|admin|1.44.5-1|1466|ext2, ext3 and ext4 file system utilities
ethtool|net|1:4.19-1|410|display or change Ethernet device settings
fail2ban|net|0.10.2-2|1735|bans hosts that cause multiple authentication errors
file|utils|1:5.35-4|121|recognizes the type of data in a file using magic numbers
findutils|utils|4.6.0|1839|utilities for finding files
gcc|devel|4:8.3.0-1|43|GNU C compiler
git|vcs|1:2.20.1-2|34788|fast, scalable, distributed revision control system
gnupg|utils|2.2.12-1|695|GNU privacy guard, a free PGP replacement
gzip|utils|1.9-3|243|GNU compression utilities
haproxy|net|1.8.19-1|3011|fast and reliable load balancing reverse proxy
hostname|admin|3.21|47|utility to set or show the host name or domain name
htop|utils|2.2.0-1|220|interactive processes viewer
init-system-helpers|admin|1.56|133|helper tools for all init systems
iproute2|net|4.20.0-2|2616|networking and traffic control tools
iptables|net|1.8.2-4|2502|administration tools for packet filtering and NAT
iputils-ping|net|3:20180629|108|tools to test the reachability of network hosts
jq|utils|1.5+dfsg-2|108|lightweight and flexible command-line JSON processor
less|text|487-0.1|282|pager program similar to more
libacl1|libs|2.2.53-4|62|access control list, shared library
libapr1|libs|1.6.5-1|256|portable runtime library
libbz2-1.0|libs|1.0.6-9|96|high-quality block-sorting file compressor library
libcurl4|libs|7.64.0-4|632|easy-to-use client-side URL transfer library
libexpat1|libs|2.2.6-2|382|XML parsing C library, runtime library
libgcrypt20|libs|1.8.4-5|1320|LGPL crypto library, runtime library
libgnutls30|libs|3.6.7-4|2755|GNU TLS library, main runtime library
liblzma5|libs|5.2.4-1|259|XZ-format compression library
libpam-modules|admin|1.3.1-5|1027|pluggable authentication modules for PAM
libpcre3|libs|2:8.39-12|669|old Perl 5 compatible regular expression library
libreadline7|libs|7.0-5|396|GNU readline and history libraries, run-time libraries
libsqlite3-0|libs|3.27.2-3|1347|SQLite 3 shared library
libssl1.1|libs|1.1.1d-0|4080|secure sockets layer toolkit, shared libraries
libxml2|libs|2.9.4+dfsg1-7|1895|GNOME XML library
linux-base|kernel|4.6|39|Linux image base package
linux-image-amd64|kernel|4.19+105|13|Linux for 64-bit PCs, meta-package
locales|localization|2.28-10|16617|GNU C Library, national language data
logrotate|admin|3.14.0-4|128|log rotation utility
lsof|utils|4.91+dfsg-1|453|utility to list open files
lvm2|admin|2.03.02-3|3456|Linux logical volume manager
make|devel|4.2.1-1|1314|utility for directing compilation
man-db|doc|2.8.5-2|2743|tools for reading manual pages
mariadb-server|database|1:10.3.22-0|73|database server
mdadm|admin|4.1-1|1180|tool to administer Linux MD arrays
mount|admin|2.33.1-0|455|tools for mounting and manipulating file systems
nano|editors|3.2-3|2199|small, friendly text editor
net-tools|net|1.60+git2018|960|NET-3 networking toolkit
nfs-common|net|1:1.3.4-2|753|NFS support files common to client and server
nginx|httpd|1.14.2-2|102|small, powerful, scalable web and proxy server
nodejs|javascript|10.19.0|9541|evented I/O for V8 javascript, runtime executable
ntp|net|1:4.2.8p12|1866|network time protocol daemon and utility programs
openssh-client|net|1:7.9p1-10|3981|secure shell client, for secure access to remote machines
openssl|utils|1.1.1d-0|1464|secure sockets layer toolkit, cryptographic utility
parted|admin|3.2-25|248|disk partition manipulator
perl|perl|5.28.1-6|696|practical extraction and report language
php7.3|php|7.3.14-1|74|server-side, HTML-embedded scripting language
postfix|mail|3.4.8-0|4149|high-performance mail transport agent
postgresql-11|database|11.7-0|46124|object-relational SQL database
procps|admin|2:3.3.15-2|730|proc file system utilities
puppet|admin|5.5.10-4|99|configuration management system
python3|python|3.7.3-1|186|interactive high-level object-oriented language
redis-server|database|5:5.0.3-4|152|persistent key-value database with network interface
rsync|net|3.1.3-6|688|fast, versatile, remote file-copying tool
rsyslog|admin|8.1901.0-1|1789|reliable system and kernel logging daemon
samba|net|2:4.9.5|18120|SMB/CIFS file, print and login server for Unix
screen|misc|4.6.2-3|981|terminal multiplexer with VT100 and ANSI terminal emulation
sed|utils|4.7-1|884|GNU stream editor for filtering and transforming text
smartmontools|utils|6.6-1|1876|control and monitor storage systems using S.M.A.R.T.
snmpd|net|5.7.3+dfsg-5|144|network management agents
squid|web|4.6-1|8560|web proxy cache server
strace|utils|4.26-0|1340|system call tracer
sudo|admin|1.8.27-1|3882|provide limited super user privileges to specific users
tar|utils|1.30+dfsg-6|2883|GNU version of the tar archiving utility
tcpdump|net|4.9.3-1|1190|command-line network traffic analyzer
telnet|net|0.17-41|161|basic telnet client
tmux|admin|2.8-3|655|terminal multiplexer
ufw|admin|0.36-1|857|program for managing a netfilter firewall
unzip|utils|6.0-23|547|de-archiver for .zip files
util-linux|utils|2.33.1-0|4326|miscellaneous system utilities
vim|editors|2:8.1.0875|2752|Vi IMproved, enhanced vi editor
wget|web|1.20.1-1|3277|retrieves files from the web
xz-utils|utils|5.2.4-1|551|XZ-format compression utilities
zip|utils|3.0-11|614|archiver for .zip files
zlib1g|libs|1:1.2.11|175|compression library, runtime
`

// name|vendor|version|size
const windows = `
7-Zip 19.00 (x64)|Igor Pavlov|19.00|2
Active Directory Tools|Microsoft Corporation|10.0.14393|4
Adobe Acrobat Reader DC|Adobe Systems Incorporated|20.006.20034|3
Google Chrome|Google LLC|80.0.3987.122|2
Internet Information Services|Microsoft Corporation|10.0.14393|6
Java 8 Update 241 (64-bit)|Oracle Corporation|8.0.2410.7|2
Microsoft .NET Framework 4.8|Microsoft Corporation|4.8.03761|8
Microsoft Monitoring Agent|Microsoft Corporation|10.20.18018.0|2
Microsoft Report Viewer 2015|Microsoft Corporation|12.0.2402.15|3
Microsoft SQL Server 2016 (64-bit)|Microsoft Corporation|13.2.5026.0|2
Microsoft Visual C++ 2015 Redistributable (x64)|Microsoft Corporation|14.0.24215.1|2
Mozilla Firefox 73.0 (x64 en-US)|Mozilla|73.0|2
Mozilla Maintenance Service|Mozilla|73.0|3
Microsoft Office Professional Plus 2016|Microsoft Corporation|16.0.4266.1001|2
Microsoft Silverlight|Microsoft Corporation|5.1.50918.0|3
Microsoft Visual C++ 2013 Redistributable (x86)|Microsoft Corporation|12.0.30501.0|3
Microsoft Web Deploy 4.0|Microsoft Corporation|10.0.1994|2
Notepad++ (64-bit x64)|Notepad++ Team|7.8.4|2
OpenSSL 1.1.1d (64-bit)|OpenSSL Win64 Installer Team|1.1.1|2
Oracle VM VirtualBox Guest Additions 6.0.14|Oracle Corporation|6.0.14.0|2
PuTTY release 0.73 (64-bit)|Simon Tatham|0.73.0.0|2
Python 3.8.1 (64-bit)|Python Software Foundation|3.8.1150.0|2
Remote Desktop Connection Manager|Microsoft Corporation|2.7.14060|3
Sysinternals Suite|Sysinternals|2020.2|3
TeamViewer 15|TeamViewer|15.2.2756|3
VLC media player|VideoLAN|3.0.8|2
VMware Tools|VMware, Inc.|11.0.5.15389592|2
Windows Admin Center|Microsoft Corporation|1.2.1910|2
WinSCP 5.15.9|Martin Prikryl|5.15.9|3
Wireshark 3.2.1 64-bit|The Wireshark developer community|3.2.1|2
`

export const linuxPackages: readonly Package[] = linux.trim().split('\n').map(readPackage)
export const windowsPrograms: readonly Package[] = windows.trim().split('\n').map(readPackage)

function readPackage(line: string): Package {
  const [name = '', section = '', version = '', size = '0', description = ''] = line.split('|')
  return { name, section, version, size: Number(size), description }
}
