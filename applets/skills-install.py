# SPDX-License-Identifier: MIT
"""Installs standard input as the module agentskills.

Python itself knows best where it looks: of the folders that it names, the first that can be
written and where another Python then finds the module. The argument is our own name.
"""
import os, site, subprocess, sys, sysconfig

text = sys.stdin.buffer.read()
dirs = [sysconfig.get_paths()['purelib']]
dirs += getattr(site, 'getsitepackages', list)() + [site.getusersitepackages()]
why = 'no folder of packages'
for d in dirs:
    path = os.path.join(d, 'agentskills.py')
    try:
        os.makedirs(d, exist_ok=True)
        with open(path + '.od', 'wb') as f:
            f.write(text)
        os.chmod(path + '.od', 0o644)
        os.replace(path + '.od', path)
    except OSError as e:
        why = e
        continue
    found = subprocess.run([sys.executable, '-c', 'import agentskills as a; print(a.__file__)'],
                           stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd='/')
    if os.path.realpath(found.stdout.decode().strip()) == os.path.realpath(path):
        print(path)
        sys.exit()
    os.unlink(path)
sys.exit('%s: cannot install agentskills for %s: %s; name a folder of PYTHONPATH'
         % (sys.argv[1], sys.executable, why))
