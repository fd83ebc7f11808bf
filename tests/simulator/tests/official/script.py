"""Drives the simulator with STACKIT's own Python client and prints what it saw, as JSON.

The one argument is a JSON object: iaas_url, token_url, key_path, project, foreign_project, server, network, nic, volume.
"""

import json
import sys
import uuid

from stackit.core.configuration import Configuration
from stackit.iaas.api.default_api import DefaultApi
from stackit.iaas.exceptions import ApiException
from stackit.iaas.models.allowed_addresses_inner import AllowedAddressesInner
from stackit.iaas.models.boot_volume import BootVolume
from stackit.iaas.models.create_server_networking import CreateServerNetworking
from stackit.iaas.models.create_server_payload import CreateServerPayload
from stackit.iaas.models.create_server_payload_all_of_networking import CreateServerPayloadAllOfNetworking
from stackit.iaas.models.update_attached_volume_payload import UpdateAttachedVolumePayload
from stackit.iaas.models.update_nic_payload import UpdateNicPayload
from stackit.iaas.models.update_server_payload import UpdateServerPayload
from stackit.iaas.models.update_volume_payload import UpdateVolumePayload

given = json.loads(sys.argv[1])
api = DefaultApi(
    Configuration(
        service_account_key_path=given["key_path"],
        custom_endpoint=given["iaas_url"],
        custom_token_endpoint=given["token_url"],
    )
)
region = "eu01"
project, server, network = given["project"], given["server"], given["network"]
nic, volume = given["nic"], given["volume"]
seen = {}


def error_of(call, *arguments, **named):
    """The error that a call ends with: its class, its status and its body."""
    try:
        call(*arguments, **named)
    except ApiException as error:
        return {"class": type(error).__name__, "status": error.status, "body": json.loads(error.body)}
    return "no error"


def names(answer):
    return sorted(item.name for item in answer.items)


def patch_labels(labels):
    return api.update_server(project, region, server, UpdateServerPayload(labels=labels)).labels


seen["servers"] = names(api.list_servers(project, region))
one = api.get_server(project, region, server)
seen["server"] = {"id": str(one.id), "name": one.name, "status": one.status, "labels": one.labels, "nics": one.nics}
detailed = api.get_server(project, region, server, details=True)
seen["nic_of_detailed_server"] = str(detailed.nics[0].nic_id)

seen["patched"] = patch_labels({"kubernetes.io/machine": "machine-1", "foreign": "kept"})
seen["after_null"] = patch_labels({"foreign": None})
seen["by_selector"] = names(api.list_servers(project, region, label_selector="kubernetes.io/machine=machine-1,pool=a"))
seen["by_key"] = names(api.list_servers(project, region, label_selector="pool"))
seen["by_nothing"] = names(api.list_servers(project, region, label_selector="pool=c"))

seen["server_nics"] = names(api.list_server_nics(project, region, server))
seen["project_nics"] = names(api.list_project_nics(project, region))
seen["network_nics"] = names(api.list_nics(project, region, network))
allowed = [AllowedAddressesInner(address) for address in ("10.250.0.0/16", "10.1.2.3")]
change = UpdateNicPayload(labels={"kubernetes.io/machine": "machine-1"}, allowedAddresses=allowed)
api.update_nic(project, region, network, nic, change)
kept = api.get_nic(project, region, network, nic)
seen["nic"] = {
    "labels": kept.labels,
    "allowed": [address.actual_instance for address in kept.allowed_addresses],
    "device": str(kept.device),
}
seen["delete_nic_in_use"] = error_of(api.delete_nic, project, region, network, nic)

seen["volumes"] = names(api.list_volumes(project, region))
seen["volume_label"] = api.update_volume(project, region, volume, UpdateVolumePayload(labels={"a": "b"})).labels
attached = api.list_attached_volumes(project, region, server).items
seen["attached_before"] = [item.delete_on_termination for item in attached]
api.update_attached_volume(project, region, server, volume, UpdateAttachedVolumePayload(deleteOnTermination=True))
seen["attached_after"] = api.get_attached_volume(project, region, server, volume).delete_on_termination

payload = CreateServerPayload(
    name="made-by-python",
    machineType="c1.2",
    networking=CreateServerPayloadAllOfNetworking(CreateServerNetworking(networkId=network)),
    labels={"pool": "new"},
    bootVolume=BootVolume(deleteOnTermination=True, size=50),
)
created = api.create_server(project, region, payload)
seen["created"] = {"name": created.name, "status": created.status, "labels": created.labels}
seen["created_later"] = api.get_server(project, region, created.id).status
api.delete_server(project, region, created.id)
seen["get_deleted"] = error_of(api.get_server, project, region, created.id)
api.delete_server(project, region, server)
seen["nics_that_remain"] = [[item.name, item.status, item.type] for item in api.list_project_nics(project, region).items]
seen["volumes_that_remain"] = names(api.list_volumes(project, region))
api.delete_nic(project, region, network, nic)
seen["nics_at_the_end"] = names(api.list_project_nics(project, region))

seen["unknown_server"] = error_of(api.get_server, project, region, uuid.uuid4())
seen["foreign_project"] = error_of(api.list_servers, given["foreign_project"], region)
seen["unknown_project"] = error_of(api.list_servers, uuid.uuid4(), region)
other = given["other_server"]
for name, labels in {"bad_value": {"path": "/opt/mstr"}, "bad_key": {"-a": "b"}, "reserved": {"stackit-a": "b"}}.items():
    seen[name] = error_of(api.update_server, project, region, other, UpdateServerPayload(labels=labels))
seen["trailing_comma"] = error_of(api.list_servers, project, region, label_selector="pool=b,")

print(json.dumps(seen))
