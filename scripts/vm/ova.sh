#!/usr/bin/env bash
# Pack a VM's disk as VirtualBox and VMware import it: ova.sh IMAGE NAME OVA GIB. Part of make-vm.sh.
#
# An OVA is a tar archive whose first file is a description in XML (OVF 1.0, DMTF DSP0243), then a list of SHA-1 sums
# (.mf), then the disk as a compressed VMDK. The machine: two processors, 4 GB, SATA, network by NAT.
set -euo pipefail

image=$1 name=$2 ova=$3 gib=$4
work=$(mktemp -d "${ova%/*}/.ova-XXXXXX")
trap 'rm -rf "$work"' EXIT

qemu-img convert -f qcow2 -O vmdk -o subformat=streamOptimized,adapter_type=lsilogic "$image" "$work/$name.vmdk"
cat >"$work/$name.ovf" <<END
<?xml version="1.0" encoding="UTF-8"?>
<Envelope xmlns="http://schemas.dmtf.org/ovf/envelope/1" xmlns:ovf="http://schemas.dmtf.org/ovf/envelope/1"
    xmlns:rasd="http://schemas.dmtf.org/wbem/wscim/1/cim-schema/2/CIM_ResourceAllocationSettingData"
    xmlns:vssd="http://schemas.dmtf.org/wbem/wscim/1/cim-schema/2/CIM_VirtualSystemSettingData">
  <References><File ovf:id="file1" ovf:href="$name.vmdk" ovf:size="$(stat -c %s "$work/$name.vmdk")"/></References>
  <DiskSection>
    <Info>The disk</Info>
    <Disk ovf:diskId="disk1" ovf:fileRef="file1" ovf:capacity="$((gib * 1024 * 1024 * 1024))"
        ovf:format="http://www.vmware.com/interfaces/specifications/vmdk.html#streamOptimized"/>
  </DiskSection>
  <NetworkSection><Info>The network</Info><Network ovf:name="NAT"/></NetworkSection>
  <VirtualSystem ovf:id="$name">
    <Info>TFO Lab on Debian 12. User mininet, password mininet.</Info>
    <OperatingSystemSection ovf:id="96"><Info>Debian, 64 bit</Info></OperatingSystemSection>
    <VirtualHardwareSection>
      <Info>The machine</Info>
      <System>
        <vssd:ElementName>Virtual Hardware Family</vssd:ElementName><vssd:InstanceID>0</vssd:InstanceID>
        <vssd:VirtualSystemIdentifier>$name</vssd:VirtualSystemIdentifier>
        <vssd:VirtualSystemType>vmx-10 virtualbox-2.2</vssd:VirtualSystemType>
      </System>
      <Item>
        <rasd:ElementName>2 processors</rasd:ElementName><rasd:InstanceID>1</rasd:InstanceID>
        <rasd:ResourceType>3</rasd:ResourceType><rasd:VirtualQuantity>2</rasd:VirtualQuantity>
      </Item>
      <Item>
        <rasd:AllocationUnits>byte * 2^20</rasd:AllocationUnits><rasd:ElementName>4096 MB of memory</rasd:ElementName>
        <rasd:InstanceID>2</rasd:InstanceID><rasd:ResourceType>4</rasd:ResourceType>
        <rasd:VirtualQuantity>4096</rasd:VirtualQuantity>
      </Item>
      <Item>
        <rasd:Address>0</rasd:Address><rasd:ElementName>SATA</rasd:ElementName><rasd:InstanceID>3</rasd:InstanceID>
        <rasd:ResourceSubType>AHCI</rasd:ResourceSubType><rasd:ResourceType>20</rasd:ResourceType>
      </Item>
      <Item>
        <rasd:AddressOnParent>0</rasd:AddressOnParent><rasd:ElementName>Disk</rasd:ElementName>
        <rasd:HostResource>ovf:/disk/disk1</rasd:HostResource><rasd:InstanceID>4</rasd:InstanceID>
        <rasd:Parent>3</rasd:Parent><rasd:ResourceType>17</rasd:ResourceType>
      </Item>
      <Item>
        <rasd:AutomaticAllocation>true</rasd:AutomaticAllocation><rasd:Connection>NAT</rasd:Connection>
        <rasd:ElementName>Network</rasd:ElementName><rasd:InstanceID>5</rasd:InstanceID>
        <rasd:ResourceSubType>E1000</rasd:ResourceSubType><rasd:ResourceType>10</rasd:ResourceType>
      </Item>
    </VirtualHardwareSection>
  </VirtualSystem>
</Envelope>
END
cd "$work"
sha1sum --tag "$name.ovf" "$name.vmdk" | sed 's/ (/(/; s/) = /)= /' >"$name.mf"
tar --format=ustar --owner=0 --group=0 --mode=0644 -cf packed "$name.ovf" "$name.mf" "$name.vmdk"
mv packed "$ova"
cd "${ova%/*}"
sha256sum "${ova##*/}" >"${ova##*/}.sha256"
