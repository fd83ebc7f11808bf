# The image holds the binary, the libraries it is linked with, the CA certificates, and nothing else: no shell, no package manager.

FROM rust:1.95-bookworm AS build
WORKDIR /build
COPY . .
RUN cargo build --locked --profile dist --package mcm-migration-webhook --bin mcm-migration-webhook

# The root file system of the image. The C library needs no other file to resolve names; ldd names what the loader will ask for.
RUN mkdir -p /rootfs/usr/local/bin /rootfs/etc/ssl/certs \
    && cp target/dist/mcm-migration-webhook /rootfs/usr/local/bin/ \
    && ldd target/dist/mcm-migration-webhook | grep -o '/[^ ]*' | xargs -I{} cp --dereference --parents {} /rootfs \
    && cp /etc/ssl/certs/ca-certificates.crt /rootfs/etc/ssl/certs/ \
    && echo 'nonroot:x:65532:65532::/:/sbin/nologin' > /rootfs/etc/passwd

FROM scratch
COPY --from=build /rootfs/ /
# A number, so that runAsNonRoot can be checked without a list of users.
USER 65532:65532
EXPOSE 8443 8080
ENTRYPOINT ["/usr/local/bin/mcm-migration-webhook"]
CMD ["serve"]
