# TFO Lab in a container. The network needs namespaces and /proc/sys that can be written, so run it privileged:
#
#     docker build -t tfo-lab .
#     docker run --rm -it --privileged -v "$PWD/output-figures:/home/student/tfo-lab/output-figures" tfo-lab
#
# Kernel modules are the host's (`sudo modprobe sch_netem` there, if you want netem). Chrome runs as `student`.
FROM debian:12

RUN apt-get update && apt-get install --yes --no-install-recommends ca-certificates git sudo \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home --shell /bin/bash student \
    && echo 'student ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/student

COPY --chown=student:student . /home/student/tfo-lab
WORKDIR /home/student/tfo-lab
RUN ./scripts/setup.sh && chown -R student:student . && apt-get clean && rm -rf /var/lib/apt/lists/*

USER student
CMD ["sudo", "./run.sh"]
